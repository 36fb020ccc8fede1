"""Data sets in shards of whole images: evaluated one shard at a time, on one machine or on a cluster."""
