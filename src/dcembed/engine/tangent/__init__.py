"""Steps on plain tangents of the networks, inside a box: the first good points cost no bounds, no split and no cuts."""
