import StrataDocuments
import StrataModel

/// Moments as the folder's JSON files write them: `2026-11-20T13:53:53.661Z`.
enum FolderDate {
  /// Nanoseconds since 1970; nil if the text is not a moment, or if 64 bits cannot hold it.
  static func nanoseconds(_ text: String) -> Int64? {
    guard text.utf8.contains(UInt8(ascii: "T")), let seconds = DateText.parse(text) else { return nil }
    // Nothing finer than microseconds is written, and a `Double` of seconds is exact to these.
    let microseconds = Int64(exactly: (seconds * 1_000_000).rounded())
    let reference = DateText.referenceSeconds * 1_000_000
    guard let sum = microseconds?.addingReportingOverflow(reference), !sum.overflow else { return nil }
    let (nanoseconds, isTooLarge) = sum.partialValue.multipliedReportingOverflow(by: 1000)
    return isTooLarge ? nil : nanoseconds
  }
}
