import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** Where `.ci/run` unpacks what Debian does not let stand beside Postfix. */
const packages = '/var/cache/sterna-peers'

/** What surrounds a mail system that takes mail and cannot deliver it. */
export interface MailSurroundings {
  listen: { host: string; port: number }
  /** An address that answers names on port 53. */
  nameServer: string
  /** Where it hands mail on to, by domain, whatever DNS says. */
  routes: Record<string, { host: string; port: number }>
  /** Domains that are not its own and that it takes mail for. */
  onward: string[]
  /** Where mail for `forwarded` at its own domain goes. */
  forwardTo: string
}

export interface MailSystem {
  /** What it has logged so far. */
  log(): string
  /** Ends it and all that it started. */
  stop(): Promise<void>
}

interface MailSystemOptions {
  /** Null for one that listens nowhere. */
  listen: { host: string; port: number } | null
  nameServer: string
  /** The package that it is unpacked from; without one it is installed. */
  unpackedFrom?: string
  /** Users and groups that it runs as, beside those of this machine. */
  users?: string[]
  /** Its files by path, all of them below /etc. */
  files: Record<string, string>
  /** Run as root before it starts, with /var and /run empty. */
  prepare: string
  /** In the foreground. */
  command: string[]
  /** A file that it logs to where that is not its standard output. */
  logFile?: string
}

/**
 * The mount points that a mail system was compiled for are its own: it sees this machine with its files and its package laid over
 * /etc and /usr, and /var and /run for itself. It is alone in a process namespace, which ends with its first process.
 */
const script = `
root=$1 unpacked=$2 prepare=$3
shift 3
etc=$root/etc
[ -z "$unpacked" ] || [ ! -d "$unpacked/etc" ] || etc=$etc:$unpacked/etc
mount -t overlay overlay -o "lowerdir=$etc:/etc" /etc
[ -z "$unpacked" ] || mount -t overlay overlay -o "lowerdir=$unpacked/usr:/usr" /usr
mount --bind "$root/var" /var
mount --bind "$root/run" /run
eval "$prepare"
exec "$@"`

/** Starts a mail system on loopback, apart from any other on this machine, and waits until it listens. */
export async function startMailSystem(options: MailSystemOptions): Promise<MailSystem> {
  const { listen, nameServer, unpackedFrom, users = [], files, prepare, command, logFile } = options
  const unpacked = unpackedFrom === undefined ? '' : join(packages, unpackedFrom)
  if (!existsSync(unpacked || '/')) throw new Error(`${unpacked} is missing: .ci/run unpacks it there`)
  const { path: root, remove } = temporaryDirectory()
  const accounts = users.map((user, place) => ({ user, id: 901 + place }))
  const all = {
    '/etc/passwd':
      readFileSync('/etc/passwd', 'utf8') + accounts.map(({ user, id }) => `${user}:x:${id}:${id}::/nonexistent:/bin/false\n`).join(''),
    '/etc/group': readFileSync('/etc/group', 'utf8') + accounts.map(({ user, id }) => `${user}:x:${id}:\n`).join(''),
    '/etc/resolv.conf': `nameserver ${nameServer}\n`,
    ...files,
  }
  for (const directory of ['var', 'run']) mkdirSync(join(root, directory))
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  const namespaces = ['--mount', '--pid', '--fork', '--mount-proc']
  const child = spawn('unshare', [...namespaces, 'sh', '-ec', script, 'sh', root, unpacked, prepare, ...command])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  const end = async (): Promise<void> => {
    // The first process of the namespace, whose end is that of all in it.
    for (const pid of childrenOf(child.pid)) process.kill(pid, 'SIGKILL')
    await ended
    remove()
  }
  const log = (): string => output + (logFile && existsSync(join(root, logFile)) ? readFileSync(join(root, logFile), 'utf8') : '')
  try {
    if (listen) await Promise.race([waitForPort(listen.host, listen.port), ended.then(() => Promise.reject(new Error('it ended')))])
  } catch (error) {
    const logged = log()
    await end()
    throw new Error(`the mail system did not start: ${logged}`, { cause: error })
  }
  return { log, stop: end }
}

function childrenOf(pid = 0): number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  return existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean).map(Number) : []
}
