import StrataFoundation

/// Writes versions into the store and reads them: the raw value as JSON, strings without their quotes.
struct VersionTag<Format: DatastoreFormat>: Sendable {
  typealias RawValue = Format.Version.RawValue

  static var isString: Bool { RawValue.self == String.self }

  /// The tag of a version. For a raw value that cannot be written as JSON it is the value's description.
  static func text(of version: Format.Version) -> String {
    if let text = version.rawValue as? String { return text }
    if let number = version.rawValue as? Int { return String(number) }
    guard let json = try? JSONEncoder().encode(version.rawValue) else { return "\(version.rawValue)" }
    return String(decoding: json, as: UTF8.self)
  }

  static func rawValue(of tag: String) throws -> RawValue {
    if let text = tag as? RawValue { return text }
    return try JSONDecoder().decode(RawValue.self, from: Data(tag.utf8))
  }

  /// The version of a tag; `place` is named in the error.
  ///
  /// - Throws: A decoding error if the format has no such version: a newer program wrote it.
  static func version(of tag: String, in place: String = "") throws -> Format.Version {
    guard let version = try Format.Version(rawValue: rawValue(of: tag)) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: [],
          debugDescription:
            "\(place)Version \(tag) is not a case of \(Format.Version.self): a newer program has written it."))
    }
    return version
  }

  /// Whether a tag names a version before another. Tags that name none are before everything.
  static func isOlder(_ tag: String, than version: Format.Version) -> Bool {
    guard let rawValue = try? rawValue(of: tag) else { return true }
    return rawValue < version.rawValue
  }

  /// Whether a tag names a version after another, known or not.
  static func isNewer(_ tag: String, than version: Format.Version) -> Bool {
    guard let rawValue = try? rawValue(of: tag) else { return false }
    return version.rawValue < rawValue
  }
}
