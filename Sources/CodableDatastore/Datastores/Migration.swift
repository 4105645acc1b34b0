import StrataDocuments
public import StrataFoundation

/// An instance with its identifier.
public typealias Identified<Format: DatastoreFormat> = (id: Format.Identifier, instance: Format.Instance)

/// Decodes an instance of one version and converts it to today's type. It runs on the caller's actor.
public typealias Migration<Decoder, Result> = @Sendable (_ decoder: Decoder, _ data: Data) async throws -> Result

/// A ``Migration`` that runs on no actor: the kind that a module without `NonisolatedNonsendingByDefault` makes if it keeps migrations in a
/// variable. A dictionary of them cannot be cast to the other kind, so each factory takes both.
public typealias ConcurrentMigration<Decoder, Result, Failure: Error> =
  @concurrent @Sendable (_ decoder: Decoder, _ data: Data) async throws(Failure) -> Result

/// A ``Migration`` with its parameters in the order of the original library's earlier releases.
public typealias DataFirstMigration<Decoder, Result> =
  @Sendable (_ data: Data, _ decoder: Decoder) async throws -> Result

/// A ``ConcurrentMigration`` with its parameters in the order of the original library's earlier releases.
public typealias ConcurrentDataFirstMigration<Decoder, Result, Failure: Error> =
  @concurrent @Sendable (_ data: Data, _ decoder: Decoder) async throws(Failure) -> Result

/// The coders of datastores that are made without coders.
public enum StandardCoders {
  /// Encodes as Foundation's encoder with sorted members does, several times as fast. Equal instances have equal bytes in every process:
  /// the elements of a `Set`, and of a `Dictionary` that is written as a list, are in the order of their encoded texts.
  public static let jsonEncoder: JSONEncoder = StandardJSONEncoder()

  /// Decodes as Foundation's decoder does, with the same errors, several times as fast.
  public static let jsonDecoder: JSONDecoder = StandardJSONDecoder()

  #if canImport(FoundationEssentials)
    /// How property lists are written: binary or as XML.
    public typealias PropertyListFormat = PropertyListDecoder.PropertyListFormat
  #else
    /// How property lists are written: binary or as XML.
    public typealias PropertyListFormat = PropertyListSerialization.PropertyListFormat
  #endif

  static let propertyListDecoder = PropertyListDecoder()
}

extension StandardCoders.PropertyListFormat {
  var coding: RecordCoding { self == .xml ? .xmlPropertyList : .binaryPropertyList }

  @Sendable func encode(_ instance: some Encodable) throws -> Data {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = self
    return try encoder.encode(instance)
  }
}
