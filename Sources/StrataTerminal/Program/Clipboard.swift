/// How text reaches the clipboard.
package enum ClipboardRoute: Hashable, Sendable {
  /// Straight to the terminal.
  case terminal
  /// To tmux, and wrapped through it to the terminal around it: the configuration of tmux decides which of the two it accepts.
  case tmux
  /// Through screen.
  case screen
}

/// Copying through the terminal (OSC 52), which works over ssh and inside tmux and screen.
package enum Clipboard {
  /// The largest number of bytes in one copy; many terminals drop longer ones silently, so they are refused.
  package static let limit = 74_994

  /// Returns the bytes that make the terminal copy `text`, or nil if it is longer than `limit`.
  ///
  /// - Parameters:
  ///   - text: the text to copy.
  ///   - route: the route to the clipboard.
  package static func sequence(_ text: String, by route: ClipboardRoute) -> [UInt8]? {
    guard text.utf8.count <= limit else { return nil }
    let plain = Array("\u{1B}]52;c;".utf8) + base64(Array(text.utf8)) + [0x07]
    if route == .tmux {
      // Both ways, because the configuration of tmux decides which one it accepts: as its own (`set-clipboard on`), or passed through to
      // the terminal around it (`allow-passthrough on`). If it accepts both, the same text arrives twice.
      let doubled = plain.flatMap { $0 == 0x1B ? [$0, $0] : [$0] }
      return plain + Array("\u{1B}Ptmux;".utf8) + doubled + Array("\u{1B}\\".utf8)
    }
    guard route == .screen else { return plain }
    var wrapped: [UInt8] = []
    var start = 0
    while start < plain.count {
      let end = min(start + 250, plain.count)  // screen drops device strings longer than 256 bytes
      wrapped += Array("\u{1B}P".utf8) + plain[start..<end] + Array("\u{1B}\\".utf8)
      start = end
    }
    return wrapped
  }

  /// Base 64 of `bytes`, padded.
  static func base64(_ bytes: [UInt8]) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    return stride(from: 0, to: bytes.count, by: 3).flatMap { start -> [UInt8] in
      let part = bytes[start..<min(start + 3, bytes.count)]
      let group = (part + [0, 0]).prefix(3).reduce(0) { $0 << 8 | Int($1) }
      return (0..<4).map { $0 <= part.count ? alphabet[group >> (18 - 6 * $0) & 63] : 0x3D }
    }
  }
}
