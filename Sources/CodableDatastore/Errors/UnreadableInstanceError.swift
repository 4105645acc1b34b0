import StrataEngine
public import StrataFoundation
import StrataModel

/// A stored instance that does not decode: most often the type of a property has changed, and the version of the format has not.
///
/// Only calls that need the instance throw it. If a migration throws an error of its own, these calls throw that one instead, and a
/// selection that leaves such instances out reports both. Counts, and reads of other instances and of indexes that are built already,
/// succeed, and other instances can be written. An index that cannot be built because of it throws this error until a warm-up succeeds.
public struct UnreadableInstanceError: LocalizedError, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The identifier of the instance, as a person writes it.
  public var identifier: String
  /// The version under which it was written.
  public var version: String
  /// The place in the instance at which decoding failed, `.address.city`; empty if the decoder does not report it.
  public var codingPath: String
  /// The error of the decoder or the migration, or ``DatastoreError/missingDecoder(version:)``.
  public var underlying: any Error
  /// A sentence for the developer that says how the instance can be decoded.
  let advice: String
  let key: [UInt8]

  /// One sentence for a person: the instance, the reason, and a way out.
  public var errorDescription: String? {
    let place = codingPath.isEmpty ? "" : " at \(codingPath)"
    let reason = DecodingPath.reason(of: underlying)
    return "The instance \(identifier) of \(datastore), written by version \(version), cannot be decoded\(place): "
      + "\(reason)\(reason.last.map { ".!?…".contains($0) } == true ? "" : ".") \(advice)"
  }
}

extension UnreadableInstanceError {
  /// The error for a program that asks for the instance, or for a warm-up: an error of the program's own as it is.
  var thrown: any Error { underlying is DecodingError ? self : underlying }
}

extension DatastoreCore {
  /// The instance of a record and its own identifier, converted if it is of an older version.
  ///
  /// - Parameter wrapsAll: Whether an instance is also unreadable without a decoding error: without a migration, or if that throws an
  ///   error of its own.
  /// - Throws: ``UnreadableInstanceError``. A cancellation and the errors of a store, which may be gone the next time, stay as they are.
  func decoded(
    _ record: Bytes, key: [UInt8], wrapsAll: Bool = false
  ) async throws -> (id: Identifier, instance: Instance) {
    do {
      return try await coder.decode(record)
    } catch {
      switch error {
      case is CancellationError, is StoreError, is TransactionConflict: throw error
      case _ where wrapsAll || error is DecodingError: throw unreadable(error, key: key, record: record)
      default: throw error
      }
    }
  }

  func instance(of record: Bytes, key: [UInt8], wrapsAll: Bool = false) async throws -> Instance {
    try await decoded(record, key: key, wrapsAll: wrapsAll).instance
  }

  private func unreadable(_ error: any Error, key: [UInt8], record: Bytes) -> UnreadableInstanceError {
    let version = coder.tag(of: record) ?? ""
    let advice =
      VersionTag<Format>.isNewer(version, than: coder.version)
      ? "Update this program."
      : !coder.hasDecoder(for: version)
        ? "Add a migration that decodes version \(version)."
        : !(error is DecodingError)
          ? "The decoder of version \(version) threw this error."
          : version == coder.tag
            ? "If the type of a property has changed, declare a new version of the format and a migration that decodes version \(version)."
            : "The migration of version \(version) must decode it: a program whose types had changed may have written it under that version."
    return UnreadableInstanceError(
      datastore: DatastoreKey(self.key), identifier: shown(key), version: version,
      codingPath: DecodingPath.text(of: error), underlying: error, advice: advice, key: key)
  }

  /// An identifier as a person writes it, also one of the type that the store still has.
  func shown(_ key: [UInt8]) -> String {
    let stored = try? Transactions.readState(for: store).tree(recordsTree).map(descriptor(of:))
    let encodings = [stored?.identifierEncoding, identifiers.encoding]
    return encodings.lazy.compactMap { try? $0?.decode(key).description }.first ?? "\(key)"
  }
}
