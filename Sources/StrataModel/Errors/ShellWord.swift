extension String {
  /// The text as one word of a command that a message suggests: in quotes if a shell would read it otherwise.
  package var shellWord: String {
    let isPlain = unicodeScalars.allSatisfy { scalar in
      !scalar.isASCII || scalar.properties.isAlphabetic || "%+,-./0123456789:=@_".unicodeScalars.contains(scalar)
    }
    return isPlain && !isEmpty ? self : "'\(replacing("'", with: "'\\''"))'"
  }
}
