"""Files that hold weights alone, and say or are told what is between the layers."""
