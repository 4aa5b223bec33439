/** What a message is read from: any Readable, or `ArrivingContent`. */
export interface ContentStream {
  on(event: 'data', listener: (piece: Buffer) => void): unknown
  on(event: 'end' | 'error' | 'close', listener: () => void): unknown
  pause(): unknown
  resume(): unknown
}
