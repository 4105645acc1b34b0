import StrataDocuments
import StrataEngine

@testable import StrataModel

/// What the fuzzer of stored contents does with its bytes, and the tests with its corpus. Says what is wrong; nil: nothing.
///
/// The first byte says what the rest is: a record's content in one of the codings, a descriptor, a report of activity, staged
/// changes, or a whole record.
enum DocumentFuzzTarget {
  static func run(_ input: [UInt8]) -> String? {
    guard let kind = input.first else { return nil }
    let rest = Array(input.dropFirst())
    switch kind % 7 {
    case 0: return content(rest, .json)
    case 1: return content(rest, .binaryPropertyList)
    case 2: return content(rest, .xmlPropertyList)
    case 3: return descriptor(rest)
    case 4: return activity(rest)
    case 5: return staged(rest)
    default:
      guard let (version, content) = try? RecordBytes.split(Bytes(rest)) else { return nil }
      let again = try? RecordBytes.split(Bytes(RecordBytes.make(version: version, content: content.array)))
      return again?.version == version && again?.content == content ? nil : "a record is another one when written again"
    }
  }

  /// What is read is written as bytes that are read as the same.
  private static func content(_ bytes: [UInt8], _ coding: RecordCoding) -> String? {
    _ = RecordCoding.sniff(bytes)
    guard let document = try? coding.document(of: bytes) else { return nil }
    _ = document.compactText(limit: 60)
    if !Document.difference(document, document).isEmpty { return "a document differs from itself" }
    for written in [try? coding.encode(document), try? coding.encode(document, keeping: bytes)] {
      guard let written else { continue }
      guard let again = try? coding.document(of: written) else { return "what was written as \(coding) cannot be read" }
      if again != document { return "\(document) is written as \(coding) and read as \(again)" }
    }
    return nil
  }

  private static func descriptor(_ bytes: [UInt8]) -> String? {
    guard let descriptor = try? DatastoreDescriptor(bytes: bytes) else { return nil }
    guard let written = try? descriptor.bytes, let again = try? DatastoreDescriptor(bytes: written) else {
      return "a descriptor cannot be written and read again"
    }
    return again == descriptor ? nil : "a descriptor is another one when written again"
  }

  private static func activity(_ bytes: [UInt8]) -> String? {
    guard let activity = Activity(bytes: bytes) else { return nil }
    let counts = [(activity.done, activity.total)] + activity.steps.map { ($0.done, $0.total) }
    // Who shows it takes one from the other.
    return counts.contains { $0.subtractingReportingOverflow($1).overflow } ? "counts that cannot be shown" : nil
  }

  private static func staged(_ bytes: [UInt8]) -> String? {
    let text = StagedText(path: "/staged")
    guard let staged = try? text.changes(of: bytes) else { return nil }
    guard let again = try? text.changes(of: text.bytes(of: staged)) else {
      return "staged changes cannot be written and read again"
    }
    return again == staged ? nil : "staged changes are others when written again"
  }
}
