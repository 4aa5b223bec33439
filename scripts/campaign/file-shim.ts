import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync, realpathSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'

/** What a process does to files, by the numbers of `enum kind` in file-shim.c. */
export const fileCalls = ['open', 'close', 'read', 'write', 'truncate', 'flush', 'rename', 'unlink', 'link', 'mkdir', 'symlink'] as const
type FileCall = (typeof fileCalls)[number]

/** One change below the root, as it was recorded; paths are absolute. */
export interface FileRecord {
  call: FileCall
  pid: number
  fd: number
  /** Of open(2). */
  flags: number
  /** Where a write begins; the new size of a truncate. */
  offset: number
  /** A write's bytes, else a path. */
  data: Buffer
  /** What a path is renamed to, linked to or made of. */
  other: string
  /** The size of the log behind this record. */
  end: number
}

/** Which calls fail, and how. */
export interface FileFault {
  error: 'EIO' | 'ENOSPC' | 'EROFS' | 'EACCES' | 'EMFILE'
  calls: FileCall[]
  /** Text that the path holds, or, with `$` behind it, that it ends with. */
  path: string
  /** So many calls still succeed; 0 unless given. */
  skip?: number
  /** So many fail then; all unless given. */
  times?: number
}

const headerBytes = 32
const controlBytes = 4096
const clockPlace = 16
const failedPlace = 24

/** Compiles file-shim.c into `directory`; answers the library. Linux, with a C compiler. */
export function compileFileShim(directory: string): string {
  const library = join(realpathSync(directory), 'file-shim.so')
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, new URL('./file-shim.c', import.meta.url).pathname, '-ldl', '-lpthread'])
  return library
}

/** The shim of file-shim.c around the processes that a campaign starts with `environment`. */
export class FileShim {
  readonly environment: Record<string, string>
  readonly #log: string
  readonly #control: number

  /**
   * @param library see `compileFileShim`
   * @param directory where its own files go; outside `root`
   * @param root whose changes are recorded
   */
  constructor(library: string, directory: string, root: string) {
    const control = join(directory, 'control')
    this.#log = join(directory, 'log')
    writeFileSync(this.#log, '')
    writeFileSync(control, Buffer.alloc(controlBytes))
    this.#control = openSync(control, 'r+')
    // What goes through io_uring would not be seen.
    this.environment = {
      LD_PRELOAD: library,
      SHIM_ROOT: realpathSync(root),
      SHIM_LOG: this.#log,
      SHIM_CONTROL: control,
      UV_USE_IO_URING: '0',
    }
  }

  /** How long the log is: whatever a process did before this moment lies before this place. */
  get position(): number {
    return statSync(this.#log).size
  }

  records(): FileRecord[] {
    const log = readFileSync(this.#log)
    const records: FileRecord[] = []
    for (let at = 0; at < log.length;) {
      const [length, otherLength] = [log.readUInt32LE(at + 24), log.readUInt32LE(at + 28)]
      const [data, end] = [at + headerBytes, at + headerBytes + length + otherLength]
      records.push({
        call: fileCalls[log.readUInt32LE(at)] as FileCall,
        pid: log.readUInt32LE(at + 4),
        fd: log.readInt32LE(at + 8),
        flags: log.readInt32LE(at + 12),
        offset: Number(log.readBigInt64LE(at + 16)),
        data: log.subarray(data, data + length),
        other: log.toString('utf8', data + length, end),
        end,
      })
      at = end
    }
    return records
  }

  /** Lets calls fail from now on; null ends it. */
  fail(fault: FileFault | null): void {
    const page = Buffer.alloc(controlBytes)
    if (fault) {
      page.writeInt32LE(constants.errno[fault.error], 0)
      page.writeUInt32LE(
        fault.calls.reduce((bits, call) => bits | (1 << fileCalls.indexOf(call)), 0),
        4,
      )
      page.writeInt32LE(fault.skip ?? 0, 8)
      page.writeInt32LE(fault.times ?? -1, 12)
      page.write(fault.path, failedPlace + 4)
    }
    // The error goes last in and first out, so that no call sees one fault with another's path.
    writeSync(this.#control, Buffer.alloc(4), 0, 4, 0)
    writeSync(this.#control, page, 4, clockPlace - 4, 4)
    writeSync(this.#control, page, failedPlace, controlBytes - failedPlace, failedPlace)
    writeSync(this.#control, page, 0, 4, 0)
  }

  /** How many calls have failed since the last `fail`. */
  get failed(): number {
    const bytes = Buffer.alloc(4)
    readSync(this.#control, bytes, 0, 4, failedPlace)
    return bytes.readInt32LE()
  }

  /** Moves the wall clock of the processes, ms; 0 sets it right. */
  moveClock(ms: number): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(ms))
    writeSync(this.#control, bytes, 0, 8, clockPlace)
  }

  close(): void {
    closeSync(this.#control)
  }
}
