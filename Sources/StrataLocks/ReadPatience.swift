/// Whether the reads of a thread wait for a server that is gone. Those of a browser do not: it shows the absence, and reads again.
package enum ReadPatience {
  /// Whether they do not wait, whatever the store's options say.
  @TaskLocal package static var isNone = false
}
