/** Copies of a store in files, for processes and threads that do not have it open: whole ones, and the log that leads on from one. */
export { examineCopy, type CopyContent } from './sqlite/examine-copy.ts'
export { addSegment, segmentFault } from './sqlite/log-segment.ts'
export { ChainBroken, LogSource, type LogPosition } from './sqlite/log-source.ts'
export { removeCopy } from './sqlite/mark-copy.ts'
export type { Checksum } from './sqlite/wal-frames.ts'
