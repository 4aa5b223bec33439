import { X509Certificate, createPrivateKey } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { SternaError } from '../errors.ts'
import { reasonOf } from '../plain-reason.ts'

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
  /** Where we keep a self-signed certificate. */
  directory: string
  /** The name it is for. */
  hostname: string
  /** Epoch, ms. */
  now: number
}

const dayMs = 86_400_000
const lifetimeDays = 365
const renewBeforeDays = 30

/**
 * The certificate for the ports with TLS: the configured one, else a self-signed one, which is kept, and replaced in the month before it
 * expires or when the hostname has changed.
 * @throws SternaError `configuration` if the configured files cannot be read or do not match
 */
export async function loadOrMakeCertificate(options: CertificateOptions): Promise<Certificate> {
  const { certFile, keyFile } = options
  if (certFile !== null && keyFile !== null) return loadConfigured(certFile, keyFile)
  if (certFile !== null || keyFile !== null) {
    throw new SternaError('configuration', 'Set both tls.cert and tls.key. With neither, Sterna creates a self-signed certificate.')
  }
  return (await findKept(options)) ?? make(options)
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

/** Where we keep a self-signed certificate. */
export const selfSignedFiles = (directory: string) => ({
  certFile: join(directory, 'self-signed.crt'),
  keyFile: join(directory, 'self-signed.key'),
})

/** Whatever is wrong with our own files, making them again fixes it. */
async function findKept({ directory, hostname, now }: CertificateOptions): Promise<Certificate | null> {
  try {
    const { certFile, keyFile } = selfSignedFiles(directory)
    const kept = certificateOf(await readPem(certFile), await readPem(keyFile), 'kept')
    const isCurrent = kept.expiresAt - now >= renewBeforeDays * dayMs && namesHost(kept.cert, hostname)
    return isCurrent ? kept : null
  } catch {
    return null
  }
}

async function make({ directory, hostname, now }: CertificateOptions): Promise<Certificate> {
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
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { certFile, keyFile } = selfSignedFiles(directory)
  await replaceFile(keyFile, made.private, 0o600)
  await replaceFile(certFile, made.cert, 0o644)
  return certificateOf(made.cert, made.private, 'made')
}

async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const fresh = `${file}.new`
  await writeFile(fresh, text, { mode })
  await rename(fresh, file)
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
