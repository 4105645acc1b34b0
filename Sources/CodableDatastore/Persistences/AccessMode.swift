/// Whether a persistence and its datastores may write.
public protocol _AccessMode: Sendable {}

/// They only read.
public enum ReadOnly: _AccessMode {}

/// They read and write.
public enum ReadWrite: _AccessMode {}
