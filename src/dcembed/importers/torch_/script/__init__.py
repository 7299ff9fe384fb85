"""TorchScript: its code is text, which is interpreted here."""
