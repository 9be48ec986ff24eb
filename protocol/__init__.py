"""What travels between a phone and the cloud. Floor 1: imports nothing of ours, does no I/O.

    errors.py     every refusal as a type
    messages.py   the messages, strict pydantic models      wire.py     frames of at most 64 KiB
    packing.py    bounded msgpack                           identity.py Ed25519 keys, envelopes
    session.py    both ends of a session as state machines (session_client.py, session_server.py)
    rounds.py     signed round descriptors                  update.py   uplink coding of a report
    params.py     parameters and their differences          entropy.py  the coder under them
                  (modelling.py, rans.py)
    release.py    signed manifests and the checks before adoption
    metadata.py   TUF role files                            trust.py    what a phone trusts of them
    documents.py  public documents and their deltas         records.py  their canonical form
    publication.py  their signed descriptions               facts.py    what a knowledge record is
    vcdiff.py     a bounded decoder of RFC 3284
    models/       what the parameters mean: specs, features, forward pass

Who calls what: a phone opens descriptors and manifests, encodes reports, decodes releases; the
cloud seals, decodes reports, encodes releases. Both run one session machine each.
"""
