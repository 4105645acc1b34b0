/// Whether a persistence and its datastores may write.
public protocol _AccessMode: Sendable {}

/// The persistence and its datastores only read.
public enum ReadOnly: _AccessMode {}

/// The persistence and its datastores read and write.
public enum ReadWrite: _AccessMode {}
