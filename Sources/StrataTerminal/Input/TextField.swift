/// Text that a person edits, by grapheme cluster: one line, or several if its owner inserts line breaks.
///
/// Keys: characters insert; Left Right Home End and `^b ^f ^a ^e` move; `M-b M-f C-Left C-Right` move by word; Backspace
/// Delete `^h ^d` delete; `^w` deletes the word before the cursor, `^u` the line before it, `^k` the line after it; `^y`
/// inserts again what the last of these three deleted.
package struct TextField: Hashable, Sendable {
  package private(set) var text: String
  /// Grapheme clusters before the cursor: 0 … `text.count`.
  package private(set) var cursor: Int
  private var killed = ""
  /// Whether all of it is selected: what is typed next takes its place, a key that moves lets it stand.
  package private(set) var isSelected = false

  /// A field holding `text`, the cursor at its end; selected, the first character typed takes its place.
  package init(_ text: String = "", isSelected: Bool = false) {
    self.text = text
    self.isSelected = isSelected && !text.isEmpty
    self.cursor = text.count
  }

  /// Replaces what it holds; the cursor goes to the end.
  package mutating func set(_ text: String) {
    isSelected = false
    self.text = text
    cursor = text.count
  }

  /// Puts the cursor before the cluster of this number, as near as there are clusters.
  package mutating func moveCursor(to place: Int) {
    cursor = min(max(0, place), text.count)
  }

  /// Inserts text at the cursor, as typing or pasting does. Clusters may join with their neighbours.
  package mutating func insert(_ addition: String) {
    if isSelected {
      isSelected = false
      killed = text
      set("")
    }
    let head = text[..<index(cursor)] + addition
    let tail = text[index(cursor)...]
    text = String(head) + tail
    cursor = min(head.count, text.count)
  }

  /// Lets a key edit the text.
  ///
  /// - Returns: whether the key means something here; others are for the field's owner.
  package mutating func apply(_ chord: KeyChord) -> Bool {
    if let character = chord.character {
      insert(String(character))
      return true
    }
    let wasSelected = isSelected
    defer { if wasSelected { isSelected = false } }
    switch chord.description {
    case "Backspace" where isSelected, "^h" where isSelected, "Delete" where isSelected:
      killed = text
      set("")
    case "Left", "^b": moveCursor(to: cursor - 1)
    case "Right", "^f": moveCursor(to: cursor + 1)
    case "Home", "^a": cursor = lineStart()
    case "End", "^e": cursor = lineEnd()
    case "C-Left", "M-Left", "M-b": cursor = wordStart()
    case "C-Right", "M-Right", "M-f": cursor = wordEnd()
    case "Backspace", "^h": remove(max(0, cursor - 1)..<cursor)
    case "Delete", "^d": remove(cursor..<min(cursor + 1, text.count))
    case "^w": kill(wordStart()..<cursor)
    case "^u": kill(lineStart()..<cursor)
    case "^k": kill(cursor..<lineEnd())
    case "^y": insert(killed)
    default: return false
    }
    return true
  }

  /// Draws the part around the cursor into `width` columns, and returns where the cursor stands.
  ///
  /// Only what is visible is looked at. `‹` and `›` say that there is more on that side.
  @discardableResult
  package func draw(into grid: inout CellGrid, at point: Point, width: Int, style: Style = .plain) -> Point {
    guard width > 0 else { return point }
    grid.fill(Rect(column: point.column, row: point.row, columns: width, rows: 1), style: style)
    let place = index(cursor)
    let head = Array(text[..<place].suffix(width))
    let characters = head + text[place...].prefix(width + 1)
    let (cursor, isCut) = (head.count, head.count < self.cursor)
    var first = cursor
    var before = 0
    while first > 0 {
      let columns = SafeText.width(String(characters[first - 1]))
      guard before + columns < max(1, width - (first > 1 || isCut ? 1 : 0)) else { break }
      before += columns
      first -= 1
    }
    var column = point.column
    if first > 0 || isCut, width > 1 {
      grid.write("‹", at: point, width: 1, style: style.with(.dim))
      column += 1
    }
    let cursorPoint = Point(column: min(column + before, point.column + width - 1), row: point.row)
    var last = first
    var used = column - point.column
    while last < characters.count {
      let columns = SafeText.width(String(characters[last]))
      guard used + columns <= width else { break }
      used += columns
      last += 1
    }
    if last < characters.count, last > cursor, used >= width { last -= 1 }
    let look = isSelected ? style.with(.reverse) : style
    grid.write(String(characters[first..<last]), at: Point(column: column, row: point.row), style: look)
    if last < characters.count, width > 1, cursorPoint.column < point.column + width - 1 {
      grid.write("›", at: Point(column: point.column + width - 1, row: point.row), width: 1, style: style.with(.dim))
    }
    grid.cursor = cursorPoint
    return cursorPoint
  }

  private func index(_ place: Int) -> String.Index {
    text.index(text.startIndex, offsetBy: place, limitedBy: text.endIndex) ?? text.endIndex
  }

  private mutating func remove(_ range: Range<Int>) {
    text.removeSubrange(index(range.lowerBound)..<index(range.upperBound))
    cursor = min(range.lowerBound, text.count)
  }

  private mutating func kill(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    killed = String(text[index(range.lowerBound)..<index(range.upperBound)])
    remove(range)
  }

  private func lineStart() -> Int { cursor - position.column }

  private func lineEnd() -> Int { cursor + text.dropFirst(cursor).prefix { !$0.isNewline }.count }

  private func wordStart() -> Int {
    let characters = Array(text)
    var place = cursor
    while place > 0, characters[place - 1].isWhitespace { place -= 1 }
    while place > 0, !characters[place - 1].isWhitespace { place -= 1 }
    return place
  }

  private func wordEnd() -> Int {
    let characters = Array(text)
    var place = cursor
    while place < characters.count, characters[place].isWhitespace { place += 1 }
    while place < characters.count, !characters[place].isWhitespace { place += 1 }
    return place
  }
}
