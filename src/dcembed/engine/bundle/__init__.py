"""Our loop: the convex-concave procedure on a cutting-plane model of the kept components, inside a box."""
