// Foundation, of which only the essentials where they are a module of their own: the rest brings tables that a program would load at its
// start. A file that needs Foundation imports this module instead.
#if canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif
