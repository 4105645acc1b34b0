import StrataTerminal

/// A small terminal: reads what a program sends to an xterm and keeps the picture, written apart from the program so
/// that it can contradict it.
///
/// It knows what ncurses sends for the terminals of the tests: cursor moves, erasing, inserting, deleting, scroll
/// regions, repeating, looks, the alternate screen, and what programs tell a terminal on the side.
struct TerminalScreen {
  /// One place.
  struct Place: Hashable {
    var text = " "
    var width = 1
    var look = Look()
  }

  /// How a place looks.
  struct Look: Hashable {
    var foreground: Int?
    var background: Int?
    var isBold = false
    var isDim = false
    var isItalic = false
    var isUnderlined = false
    var isReversed = false
  }

  var size: Size
  var places: [[Place]]
  var cursor = Point.zero
  var look = Look()
  var regionTop = 0
  var regionBottom: Int
  var wrapsNext = false
  var wrapsAtEdge = true
  var lastText: String?
  var savedCursor = Point.zero
  var mainScreen: [[Place]]?

  /// Private modes that are on: 25 cursor, 1049 alternate screen, 2004 paste, 1000 and 1006 mouse …
  var modes: Set<Int> = [25, 7]
  /// How often each private mode was turned off.
  var timesOff: [Int: Int] = [:]
  /// How often it was asked whether it knows synchronized updates.
  var questions = 0
  /// How often it was asked where its cursor is.
  var cursorQuestions = 0
  /// What a terminal would have answered.
  var answers: [UInt8] = []
  /// What one would have answered that knows synchronized updates.
  var updateAnswers: [UInt8] = []
  /// The bytes of each picture that came as a synchronized update, its two marks included.
  var frames: [Int] = []
  private var frameBegan = 0
  /// Bells outside of any sequence.
  var bells = 0
  /// How often it was asked for the colour of its background. It does not answer by itself.
  var backgroundQuestions = 0
  /// Everything after `OSC 52 ; c ;`.
  var copied: [String] = []
  /// Device strings, which tmux and screen would pass on.
  var deviceStrings: [[UInt8]] = []
  /// What the program said about being idle.
  var idle: [IdleReport] = []
  /// Bytes that were not about being idle.
  var paintedBytes = 0
  /// Sequences that this terminal does not know: a test expects none.
  var unknown: [String] = []
  /// Every byte, idle reports included.
  var transcript: [UInt8] = []

  var decoder = SequenceDecoder()

  /// One message of the idle signal.
  struct IdleReport: Hashable {
    var inputBytes: Int
    var size: String
  }

  init(size: Size) {
    self.size = size
    self.regionBottom = size.rows - 1
    self.places = Self.blank(size)
  }

  private static func blank(_ size: Size) -> [[Place]] {
    Array(repeating: Array(repeating: Place(), count: size.columns), count: size.rows)
  }

  /// The window has another size: like most terminals, what does not fit is gone.
  mutating func resize(_ size: Size) {
    var resized = Self.blank(size)
    for row in 0..<min(size.rows, places.count) {
      for column in 0..<min(size.columns, places[row].count) { resized[row][column] = places[row][column] }
    }
    self.size = size
    places = resized
    if mainScreen != nil { mainScreen = Self.blank(size) }
    regionTop = 0
    regionBottom = size.rows - 1
    cursor = inside(cursor)
    // The main screen's, to which a program goes back at its end.
    savedCursor = inside(savedCursor)
    wrapsNext = false
  }

  private func inside(_ point: Point) -> Point {
    Point(column: min(point.column, size.columns - 1), row: min(point.row, size.rows - 1))
  }

  /// The rows as text.
  var lines: [String] { places.map { row in row.map(\.text).joined() } }

  /// The rows as text without spaces at their ends.
  var text: String {
    lines.map { line in
      var line = Substring(line)
      while line.last == " " { line.removeLast() }
      return String(line)
    }.joined(separator: "\n")
  }

  /// Reads what the program sent.
  mutating func feed(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      transcript.append(byte)
      paintedBytes += 1
      if let token = decoder.read(byte) { apply(token) }
    }
  }

  /// One of the two marks of a synchronized update has come.
  mutating func markFrame(begins: Bool) {
    if begins { frameBegan = paintedBytes - Self.frameMark } else { frames.append(paintedBytes - frameBegan) }
  }

  private static let frameMark = "\u{1B}[?2026h".utf8.count

  private mutating func apply(_ token: SequenceDecoder.Token) {
    switch token {
    case .scalar(let scalar): put(scalar)
    case .control(let byte): control(byte)
    case .escape(let text): escape(text)
    case .sequence(let sequence): apply(sequence)
    case .command(let text, let length):
      if text.hasPrefix("7777;idle;") {
        paintedBytes -= length
        let parts = text.split(separator: ";")
        guard parts.count == 4, let bytes = Int(parts[2]) else { return }
        idle.append(IdleReport(inputBytes: bytes, size: String(parts[3])))
      } else if text.hasPrefix("52;c;") {
        copied.append(String(text.dropFirst(5)))
      } else if text == "11;?" {
        backgroundQuestions += 1
      } else if text == "104" {
        // The terminal's own colours again: nothing changed them.
      } else {
        unknown.append("OSC \(text)")
      }
    case .deviceString(let bytes): deviceStrings.append(bytes)
    }
  }

  private mutating func control(_ byte: UInt8) {
    wrapsNext = false
    switch byte {
    case 0x07: bells += 1
    case 0x08: cursor.column = max(0, cursor.column - 1)
    case 0x09: cursor.column = min(size.columns - 1, (cursor.column / 8 + 1) * 8)
    case 0x0A: lineFeed()
    case 0x0D: cursor.column = 0
    case 0x0E, 0x0F, 0x00: break
    default: unknown.append("control \(byte)")
    }
  }

  private mutating func escape(_ text: String) {
    switch text {
    case "7": savedCursor = cursor
    case "8": cursor = savedCursor
    case "M":
      if cursor.row == regionTop { scroll(down: 1) } else { cursor.row = max(0, cursor.row - 1) }
    case "D": lineFeed()
    case "=", ">", "(B", ")B", "(0", ")0", "\\", "H", "*B", "+B": break
    default: unknown.append("ESC \(text)")
    }
  }

  mutating func lineFeed() {
    if cursor.row == regionBottom { scroll(up: 1) } else { cursor.row = min(size.rows - 1, cursor.row + 1) }
  }

  mutating func scroll(up count: Int) {
    for _ in 0..<min(count, regionBottom - regionTop + 1) {
      places.remove(at: regionTop)
      places.insert(emptyRow, at: regionBottom)
    }
  }

  mutating func scroll(down count: Int) {
    for _ in 0..<min(count, regionBottom - regionTop + 1) {
      places.remove(at: regionBottom)
      places.insert(emptyRow, at: regionTop)
    }
  }

  /// What erasing leaves: spaces in the present background.
  var emptyPlace: Place { Place(look: Look(background: look.background)) }
  var emptyRow: [Place] { Array(repeating: emptyPlace, count: size.columns) }

  mutating func put(_ scalar: Unicode.Scalar) {
    if joins(scalar) {
      let column = max(0, wrapsNext ? cursor.column : cursor.column - 1)
      places[cursor.row][column].text.unicodeScalars.append(scalar)
      return
    }
    put(String(scalar))
  }

  mutating func put(_ text: String) {
    let width = SafeText.width(text)
    if wrapsNext || cursor.column + width > size.columns {
      if wrapsAtEdge {
        cursor.column = 0
        lineFeed()
      } else {
        cursor.column = max(0, size.columns - width)
      }
    }
    wrapsNext = false
    lastText = text
    guard cursor.column + width <= size.columns else { return }
    places[cursor.row][cursor.column] = Place(text: text, width: width, look: look)
    if width == 2 { places[cursor.row][cursor.column + 1] = Place(text: "", width: 0, look: look) }
    if cursor.column + width < size.columns {
      cursor.column += width
    } else {
      cursor.column = size.columns - 1
      wrapsNext = wrapsAtEdge
    }
  }

  private func joins(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: true
    default: (0x1160...0x11FF).contains(scalar.value)
    }
  }
}
