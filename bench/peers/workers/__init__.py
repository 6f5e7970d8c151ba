"""Scripts that run in the peers' environments, where nothing of ours but this folder can be imported."""
