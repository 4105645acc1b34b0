/// How a transaction behaves.
public struct TransactionOptions: OptionSet, Sendable, CustomDebugStringConvertible {
  /// The options as bits; bits that mean nothing are dropped.
  public let rawValue: UInt64

  /// Makes options from bits; bits that mean nothing are dropped.
  public init(rawValue: UInt64) {
    // In the original library only the first three bits mean something, whatever others are set.
    self.rawValue = rawValue & ~0b111 == UInt64(1) << 32 ? rawValue : rawValue & 0b111
  }

  /// The transaction only reads: it never waits for a writer, nor a writer for it, and sees one state of all datastores throughout.
  public static let readOnly = Self(rawValue: 1 << 0)

  /// The transaction returns before its changes are durable. They are visible in this process at once, and become durable with the next
  /// plain commit (or soon, when idle); a failure to write them is thrown by the next write.
  public static let collateWrites = Self(rawValue: 1 << 1)

  /// The transaction may be repeated without harm. Kept for programs that say so; it changes nothing.
  public static let idempotent = Self(rawValue: 1 << 2)

  /// If another transaction on a server changes data that this one has read, the closure is run again, on the new state; without this
  /// option ``TransactionConflict`` is thrown. On disk writers wait for each other, and the option changes nothing.
  public static let retriesConflicts = Self(rawValue: UInt64(1) << 32)

  /// The options by name, as `TransactionOptions([.readOnly])`.
  public var debugDescription: String { "TransactionOptions([\(UnsafeTransactionOptions(self).names)])" }
}

/// Options of a transaction, including those that only a persistence may set.
public struct UnsafeTransactionOptions: OptionSet, Sendable, CustomDebugStringConvertible {
  /// The options as bits.
  public let rawValue: UInt64

  /// Makes options from bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Makes options from those that every program may set.
  public init(_ transactionOptions: TransactionOptions) { rawValue = transactionOptions.rawValue }

  /// See ``TransactionOptions/readOnly``.
  public static let readOnly = Self(.readOnly)

  /// See ``TransactionOptions/collateWrites``.
  public static let collateWrites = Self(.collateWrites)

  /// See ``TransactionOptions/idempotent``.
  public static let idempotent = Self(.idempotent)

  /// See ``TransactionOptions/retriesConflicts``.
  public static let retriesConflicts = Self(.retriesConflicts)

  /// The transaction's changes are not reported to observers.
  public static let skipObservations = Self(rawValue: 1 << 16)

  /// The transaction is durable when it returns, whatever other options say.
  public static let enforceDurability = Self(rawValue: 1 << 17)

  /// The options by name, as `UnsafeTransactionOptions([.readOnly])`.
  public var debugDescription: String { "UnsafeTransactionOptions([\(names)])" }

  fileprivate var names: String {
    let known: [(Self, String)] = [
      (.readOnly, ".readOnly"), (.collateWrites, ".collateWrites"), (.idempotent, ".idempotent"),
      (.retriesConflicts, ".retriesConflicts"),
      (.skipObservations, ".skipObservations"), (.enforceDurability, ".enforceDurability"),
    ]
    return known.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}
