import { readFileSync } from 'node:fs'
import { wordWith, type Worded } from '../wording.ts'

/** How many connections each part may have open, so that all together fit into the limit on open files. */
export interface ConnectionShares {
  http: number
  submission: number
  returnPath: number
  /** To mail hosts, per delivery thread. */
  delivery: number
  webhooks: number
  /** DNS queries, for the main thread and for each delivery thread. */
  nameServers: number
}

/** Files, threads and child processes: some 60 when all of them run. */
const ofOurOwn = 128
const fewest = 256
/** With fewer, a few hundred clients are enough to fill a port. */
const enough = 8_192
/** More than any of ours would need. */
const maxAtPort = 10_000
const maxAtReturnPath = 500

/** If the system does not say: what macOS allows a process. */
const unknownLimit = 10_240
const moreThanAnyUse = 1_048_576

/** How many files and sockets this process may have open. Node raises the limit as far as it may when it starts. */
export function openFileLimit(): number {
  if (process.platform !== 'linux') return unknownLimit
  const [, limit] = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return limit === undefined ? unknownLimit : Math.min(Number(limit) || Infinity, moreThanAnyUse)
}

/**
 * Divides the limit on open files. Of what files, threads and child processes leave, half is for incoming connections, a quarter for
 * delivery, an eighth for webhooks and an eighth for name servers. A fifth of the first half, up to 500, is for the return path; HTTP and
 * submission share the rest.
 */
export function connectionShares(limit: number, deliveryThreads: number): ConnectionShares {
  const left = Math.max(0, limit - ofOurOwn)
  const incoming = Math.floor(left / 2)
  const returnPath = Math.min(maxAtReturnPath, Math.floor(incoming / 5))
  const atPort = Math.min(maxAtPort, Math.floor((incoming - returnPath) / 2))
  return {
    http: atPort,
    submission: atPort,
    returnPath,
    delivery: Math.ceil(left / 4 / deliveryThreads),
    webhooks: Math.floor(left / 8),
    nameServers: Math.ceil(left / 8 / (deliveryThreads + 1)),
  }
}

const howToRaise =
  'Raise the limit on open files to 65536: LimitNOFILE=65536 in the systemd unit, --ulimit nofile=65536 for a container, otherwise "ulimit -n 65536" before the start.'

const enoughFor =
  '{limit} files and sockets may be open, enough for {http} connections over HTTP, {submission} for submission, {return_path} to the return path, and {delivery} to other mail servers.'

/** What the limit on open files is enough for. */
export const openFilesWordings = {
  open_files_too_few: {
    what: 'This process may have {limit} files and sockets open, but needs at least {fewest}.',
    advice: howToRaise,
  },
  open_files_few: { what: enoughFor, advice: howToRaise },
  open_files_fine: { what: enoughFor },
} as const

const word = wordWith(openFilesWordings)

/** The limit on open files, in words for the operator. `failed`: it is too low for anything. */
export function judgeOpenFiles(limit: number): Worded<keyof typeof openFilesWordings> & { status: 'ok' | 'warning' | 'failed' } {
  if (limit < fewest) return { status: 'failed', ...word('open_files_too_few', { limit, fewest }) }
  const { http, submission, returnPath, delivery } = connectionShares(limit, 1)
  const shares = { limit, http, submission, return_path: returnPath, delivery }
  if (limit < enough) return { status: 'warning', ...word('open_files_few', shares) }
  return { status: 'ok', ...word('open_files_fine', shares) }
}
