import StrataDocuments
import StrataTerminal

/// The parts of a date as text, `2026-11-17T09:30:00Z`: one of them is chosen by the cursor, stepped, and written over.
struct DateParts {
  private enum Part: Int, CaseIterable {
    case year, month, day, hour, minute, second

    /// The clusters of the part in the text.
    var range: Range<Int> {
      switch self {
      case .year: 0..<4
      default: rawValue * 3 + 2..<rawValue * 3 + 4
      }
    }
  }

  private let text: String
  private let parts: [Part]
  private let part: Part

  /// - Returns: nil if the text does not have the form of a date, so that it is edited as any other text. There may be no such day: a part
  ///   is typed digit by digit.
  init?(_ field: TextField) {
    text = field.text
    let characters = Array(text)
    guard let length = [19, 16, 10].first(where: { Self.isDate(characters.prefix($0), length: $0) }) else { return nil }
    parts = Part.allCases.filter { $0.range.upperBound <= length }
    guard let part = parts.last(where: { $0.range.lowerBound <= field.cursor }) else { return nil }
    self.part = part
  }

  private static func isDate(_ characters: ArraySlice<Character>, length: Int) -> Bool {
    characters.count == length
      && zip(characters, "0000-00-00T00:00:00").allSatisfy { character, form in
        switch form {
        case "0": character.isASCII && character.isNumber
        case "T": character == "T" || character == " "
        default: character == form
        }
      }
  }

  /// The clusters of the chosen part.
  var range: Range<Int> { part.range }

  /// Lets a key choose, step or overwrite a part. Returns false for any other key.
  func apply(_ chord: KeyChord, to field: inout TextField) -> Bool {
    switch chord.description {
    case "Left", "Right":
      let next = (parts.firstIndex(of: part) ?? 0) + (chord.description == "Left" ? -1 : 1)
      field.moveCursor(to: parts[max(0, min(next, parts.count - 1))].range.lowerBound)
    case "Up", "Down":
      guard let stepped = stepped(by: chord.description == "Up" ? 1 : -1) else { return true }
      field.set(stepped)
      field.moveCursor(to: range.lowerBound)
    default:
      let (typed, cursor, rest) = (chord.character, field.cursor, text.dropFirst(field.cursor))
      if let digit = typed, digit.isASCII, digit.isNumber, range.contains(cursor) {
        field.set(String(text.prefix(cursor)) + String(digit) + rest.dropFirst())
        let next = parts.first { $0.range.lowerBound > cursor }
        field.moveCursor(to: cursor + 1 < range.upperBound ? cursor + 1 : next?.range.lowerBound ?? cursor + 1)
      } else if typed != nil, typed == rest.first {
        // A whole date is typed with the characters between and behind its parts.
        field.moveCursor(to: cursor + 1)
      } else {
        return typed != nil && cursor == range.lowerBound && typed == text.prefix(cursor).last
      }
    }
    return true
  }

  /// Returns the date with the chosen part changed by one, or nil beyond the years 0 to 9999. Days and times carry over; a month without
  /// such a day gets its last one.
  private func stepped(by step: Int) -> String? {
    let head = String(text.prefix(parts.last?.range.upperBound ?? 10))
    guard let seconds = DateText.parts(head, offset: 0)?.seconds else { return nil }
    var civil = CivilTime(secondsSince1970: seconds)
    switch part {
    case .year, .month:
      let months = civil.year * 12 + civil.month - 1 + (part == .year ? 12 * step : step)
      guard months >= 0, months / 12 <= 9999 else { return nil }
      (civil.year, civil.month) = (months / 12, months % 12 + 1)
      while CivilTime.days(year: civil.year, month: civil.month, day: civil.day) == nil { civil.day -= 1 }
    case .day: civil = CivilTime(secondsSince1970: seconds + Int64(step * 86_400))
    case .hour: civil = CivilTime(secondsSince1970: seconds + Int64(step * 3_600))
    case .minute: civil = CivilTime(secondsSince1970: seconds + Int64(step * 60))
    case .second: civil = CivilTime(secondsSince1970: seconds + Int64(step))
    }
    guard 0...9999 ~= civil.year else { return nil }
    let separator = text.dropFirst(10).first.map(String.init) ?? ""
    let whole = civil.dateText + separator + civil.clockText
    return String(whole.prefix(head.count) + text.dropFirst(head.count))
  }
}
