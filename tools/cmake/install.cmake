# Installed files; filled in with the layers.
