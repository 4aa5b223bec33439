import { readFileSync } from 'node:fs'

/** How many connections each part may have open, so that all of them together fit into the limit of open files. */
export interface ConnectionShares {
  http: number
  submission: number
  returnPath: number
  /** To the hosts that mail goes to, of each delivery thread. */
  delivery: number
  webhooks: number
  /** Questions to name servers, of the main thread and of each delivery thread. */
  nameServers: number
}

/** Files, threads and child processes: some 60 with all of them running. */
const ofOurOwn = 128
const fewest = 256
/** Where fewer are allowed, a few hundred clients are enough to fill a port. */
const enough = 8_192
/** More than any of ours would need. */
const mostAtPort = 10_000
const mostAtReturnPath = 500

/** Where the system does not tell: what macOS allows a process. */
const unknownLimit = 10_240
const moreThanAnyUse = 1_048_576

/** How many files and sockets this process may have open. Node has raised the limit as far as it may when it started. */
export function openFileLimit(): number {
  if (process.platform !== 'linux') return unknownLimit
  const [, limit] = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return limit === undefined ? unknownLimit : Math.min(Number(limit) || Infinity, moreThanAnyUse)
}

/**
 * Divides the limit of open files: half of what files, threads and child processes leave is for connections that come in, a
 * quarter for delivery, an eighth for webhooks and one for name servers. Of the first half a fifth is for the return path,
 * up to 500, and the rest for HTTP and submission alike.
 */
export function connectionShares(limit: number, deliveryThreads: number): ConnectionShares {
  const left = Math.max(0, limit - ofOurOwn)
  const incoming = Math.floor(left / 2)
  const returnPath = Math.min(mostAtReturnPath, Math.floor(incoming / 5))
  const atPort = Math.min(mostAtPort, Math.floor((incoming - returnPath) / 2))
  return {
    http: atPort,
    submission: atPort,
    returnPath,
    delivery: Math.ceil(left / 4 / deliveryThreads),
    webhooks: Math.floor(left / 8),
    nameServers: Math.ceil(left / 8 / (deliveryThreads + 1)),
  }
}

/** How it stands with the limit of open files, in words for the operator. `failed`: it is too low for anything. */
export function judgeOpenFiles(limit: number): { status: 'ok' | 'warning' | 'failed'; what: string; advice: string } {
  const advice = howToRaise
  if (limit < fewest)
    return { status: 'failed', what: `This process may have ${limit} files and sockets open, and needs ${fewest} at least.`, advice }
  const { http, submission, returnPath, delivery } = connectionShares(limit, 1)
  const what =
    `${limit} files and sockets may be open, enough for ${http} connections by HTTP, ${submission} to submission and ` +
    `${returnPath} to the return path at a time, and ${delivery} to other mail servers.`
  return { status: limit < enough ? 'warning' : 'ok', what, advice }
}

const howToRaise =
  'Raise the limit of open files to 65536: LimitNOFILE=65536 in the unit of systemd, --ulimit nofile=65536 for a container, ' +
  'elsewhere "ulimit -n 65536" before the start.'
