"""Sign changes, vanishing terms and Ξ along Algorithm 1, over width: what the proof of Theorem 1 stands on."""
