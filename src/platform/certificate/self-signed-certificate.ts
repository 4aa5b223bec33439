import { X509Certificate, createPrivateKey } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { replaceFileLater } from '../durable-file.ts'
import { SternaError } from '../errors.ts'
import { reasonOf } from '../plain-reason.ts'
import type { Database } from '../store/database.ts'
import { certificateRows, keepCertificate, openRow, selfSigned, type CertificatePair } from './certificate-rows.ts'
import type { Sealer } from './sealer.ts'

export interface Certificate {
  /** PEM, the chain. */
  cert: string
  /** PEM */
  key: string
  /** `configured`: the files from the settings. `made` just now, or `kept` from an earlier start: self-signed. */
  origin: 'configured' | 'made' | 'kept'
  /** Epoch, ms. */
  expiresAt: number
  /** SHA-256, as clients show it. */
  fingerprint: string
}

interface CertificateOptions {
  /** From the settings tls.cert and tls.key: both or neither. */
  certFile: string | null
  keyFile: string | null
  /** Where clients that are to trust a self-signed certificate find it. */
  directory: string
  /** Where it is kept, for all nodes. */
  db: Pick<Database, 'read' | 'write'>
  secrets: Sealer
  /** The name it is for. */
  hostname: string
  /** Epoch, ms. */
  now: number
}

const dayMs = 86_400_000
const lifetimeDays = 365
const renewBeforeDays = 30

/**
 * The certificate for the ports with TLS: the configured one, else a self-signed one, the same at all nodes, which is kept, and replaced in
 * the month before it expires or when the hostname has changed.
 * @throws SternaError `configuration` if the configured files cannot be read or do not match
 */
export async function loadOrMakeCertificate(options: CertificateOptions): Promise<Certificate> {
  const { certFile, keyFile } = options
  if (certFile !== null && keyFile !== null) return loadConfigured(certFile, keyFile)
  if (certFile !== null || keyFile !== null) {
    throw new SternaError('configuration', 'Set both tls.cert and tls.key. With neither, Sterna creates a self-signed certificate.')
  }
  const own = await findOrMake(options)
  await publish(own, options.directory)
  return own
}

async function loadConfigured(certFile: string, keyFile: string): Promise<Certificate> {
  try {
    return certificateOf(await readPem(certFile), await readPem(keyFile), 'configured')
  } catch (error) {
    throw new SternaError(
      'configuration',
      `The certificate of tls.cert (${certFile}) and tls.key (${keyFile}) cannot be used: ${placeIn(error)}${reasonOf(error)}`,
      { cause: error },
    )
  }
}

/** Which of the files it is about, if that is known. */
const placeIn = (error: unknown): string => {
  const { path } = error as { path?: string }
  return path === undefined ? '' : `${path}: `
}

/** bytes; a chain has a few thousand, and searching hundreds of millions would keep everybody waiting */
const maxFileBytes = 1024 * 1024

async function readPem(file: string): Promise<string> {
  // Opening a pipe waits for a writer, and blocks one of the few file threads.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await handle.stat()
    if (!found.isFile()) throw new Error(`${file} is not a file`)
    if (found.size > maxFileBytes) throw new Error(`${file} is too large`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** The certificate of all nodes. Of two that make one at once, both use that of the first. */
async function findOrMake(options: CertificateOptions): Promise<Certificate> {
  const { db, secrets, hostname: name, now } = options
  for (;;) {
    const [row] = await certificateRows(db, { authority: selfSigned.authority, id: selfSigned.id })
    const kept = row && currentOf(() => openRow(row, secrets), options)
    if (kept) return kept
    const found = row ? null : await adopted(options)
    const fresh = found ?? (await make(options))
    const keeping = keepCertificate({ ...selfSigned, name }, { ...fresh, now, before: row?.chain ?? '' }, secrets)
    const [written] = await db.write([keeping])
    if (written?.changes === 1) return fresh
  }
}

/** Where earlier versions kept it, and where clients still find the certificate. */
const filesIn = (directory: string) => ({ certFile: join(directory, 'self-signed.crt'), keyFile: join(directory, 'self-signed.key') })

async function adopted({ directory, ...options }: CertificateOptions): Promise<Certificate | null> {
  const { certFile, keyFile } = filesIn(directory)
  const [cert, key] = await Promise.all([certFile, keyFile].map((file) => readPem(file).catch(() => '')))
  return currentOf(() => ({ cert: cert ?? '', key: key ?? '' }), options)
}

/** Whatever is wrong with our own certificate, making it again mends it. */
function currentOf(read: () => CertificatePair, { hostname, now }: Pick<CertificateOptions, 'hostname' | 'now'>): Certificate | null {
  try {
    const { cert, key } = read()
    const kept = certificateOf(cert, key, 'kept')
    const isCurrent = kept.expiresAt - now >= renewBeforeDays * dayMs && namesHost(kept.cert, hostname)
    return isCurrent ? kept : null
  } catch {
    return null
  }
}

/**
 * Puts the certificate where clients find it. The key that an earlier version kept beside it is in the database; for those who go back to that
 * version, the file stays as long as the certificate.
 */
async function publish({ cert }: Certificate, directory: string): Promise<void> {
  const { certFile, keyFile } = filesIn(directory)
  if ((await readFile(certFile, 'utf8').catch(() => null)) === cert) return
  await rm(keyFile, { force: true })
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await replaceFileLater(certFile, cert)
}

async function make({ hostname, now }: CertificateOptions): Promise<Certificate> {
  // At most once a year, and ten megabytes of code.
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: hostname.slice(0, 64) }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    // Clients' clocks may be behind ours.
    notBeforeDate: new Date(now - dayMs),
    notAfterDate: new Date(now + lifetimeDays * dayMs),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [isIP(hostname) ? { type: 7, ip: hostname } : { type: 2, value: hostname }] },
    ],
  })
  return certificateOf(made.cert, made.private, 'made')
}

function certificateOf(cert: string, key: string, origin: Certificate['origin']): Certificate {
  const parsed = new X509Certificate(cert)
  if (!parsed.checkPrivateKey(createPrivateKey(key))) throw new Error('the key does not belong to the certificate')
  // Only this reads the rest of the chain, and a port must not be the first to find a fault.
  createSecureContext({ cert, key })
  return { cert, key, origin, expiresAt: Date.parse(parsed.validTo), fingerprint: parsed.fingerprint256 }
}

function namesHost(cert: string, hostname: string): boolean {
  const parsed = new X509Certificate(cert)
  return (isIP(hostname) ? parsed.checkIP(hostname) : parsed.checkHost(hostname)) !== undefined
}
