"""Flickr30k Entities and referring expressions."""
