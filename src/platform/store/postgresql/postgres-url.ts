import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { SternaError } from '../../errors.ts'
import { reasonOf } from '../../plain-reason.ts'

/** Where a database is, and how to get in. */
export interface PostgresPlace {
  /** A host, or the directory of a UNIX socket. */
  host: string
  port: number
  user: string
  password: string
  database: string
  /** False: without TLS. */
  ssl: false | ConnectionOptions
  /** Without the password, for people. */
  shown: string
}

const modes = ['disable', 'require', 'verify-ca', 'verify-full']
const known = new Set(['host', 'port', 'user', 'sslmode', 'sslrootcert'])

/**
 * The place that a URL names: `postgres://user:password@host:port/database?sslmode=verify-full`. Without `sslmode`, the certificate of a server
 * elsewhere is verified, and one on this machine is spoken to in plain text.
 * @throws SternaError `configuration`, which shows nothing of the URL's password
 */
export function postgresPlace(text: string): PostgresPlace {
  const url = parsed(text)
  const options = url.searchParams
  for (const name of options.keys()) {
    if (!known.has(name)) throw wrong(`it has the parameter ${name}; it may have ${[...known].join(', ')}`)
  }
  const host = options.get('host') ?? decoded(url.hostname.replace(/^\[(.+)\]$/, '$1'))
  const user = options.get('user') ?? decoded(url.username)
  const database = decoded(url.pathname.slice(1))
  const port = Number(options.get('port') ?? (url.port || 5432))
  if (host === '' || host === noHost) throw wrong('it names no host')
  if (user === '') throw wrong('it names no user')
  if (database === '' || database.includes('/')) throw wrong('it names no database')
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw wrong('its port is not a number from 1 to 65535')
  const shown = `the database ${database} at ${host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`}`
  return { host, port, user, password: decoded(url.password), database, ssl: tlsOf(host, options), shown }
}

/** The parser of URLs knows no user without a host, which a socket does not have. */
const noHost = 'no-host.invalid'

function parsed(text: string): URL {
  try {
    const url = new URL(text.replace(/^([a-z]+:\/\/(?:[^/?#]*@)?)(?=\/)/, `$1${noHost}`))
    if (url.protocol === 'postgres:' || url.protocol === 'postgresql:') return url
  } catch {
    // What the parser says holds the URL.
  }
  throw wrong('it is not a URL that begins with postgres://')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw wrong('it has a % that is not followed by two hex digits: write %25')
  }
}

const isHere = (host: string): boolean => host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')

function tlsOf(host: string, options: URLSearchParams): PostgresPlace['ssl'] {
  const mode = options.get('sslmode') ?? (isHere(host) ? 'disable' : 'verify-full')
  if (!modes.includes(mode)) throw wrong(`its sslmode is none of ${modes.join(', ')}`)
  if (mode === 'disable') return false
  const file = options.get('sslrootcert')
  const ca = file === null ? {} : { ca: contentOf(file) }
  // Of an address there is no name to ask for.
  const name = isIP(host) === 0 ? { servername: host } : {}
  if (mode === 'require' && file === null) return { ...name, rejectUnauthorized: false }
  return mode === 'verify-full' ? { ...name, ...ca } : { ...name, ...ca, checkServerIdentity: () => undefined }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw wrong(`the file of its sslrootcert cannot be read: ${reasonOf(error)}`)
  }
}

const wrong = (why: string): SternaError =>
  new SternaError(
    'configuration',
    `store.url cannot be used: ${why}. Write it like postgres://user:password@db.example.com/sterna, with %-codes for special characters.`,
  )
