import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { adviceFor } from '../certificate/acme-advice.ts'
import type { AttemptState } from '../certificate/attempt-state.ts'
import { isoTime } from '../iso-time.ts'
import { type Finding, sayOf } from './finding.ts'

const day = 86_400_000
const warnBefore = 14 * day

/**
 * Whether clients can trust the certificate of the ports with TLS.
 * @param pem the chain; null if there is none to read
 * @param isMade true if the server signs and renews it itself
 * @param isIssued true if the server gets and renews it from an authority
 */
export function judgeCertificate(
  pem: string | null,
  { hostname, isMade, isIssued = false, now }: { hostname: string; isMade: boolean; isIssued?: boolean; now: number },
): Finding {
  const say = sayOf('certificate')
  const certificate = pem === null ? null : parse(pem)
  if (!certificate) {
    return isMade
      ? say.skipped('There is no certificate yet.', 'Start the server once; it creates one.')
      : say.failed('The certificate of tls.cert cannot be read.', 'Set tls.cert and tls.key to PEM files that this server may read.')
  }
  const ends = Date.parse(certificate.validTo)
  const on = new Date(ends).toISOString().slice(0, 10)
  const renew = isMade
    ? 'Start the server: it creates a new one.'
    : isIssued
      ? 'Start the server: it renews the certificate. If that fails, its log says why.'
      : 'Renew it and put it where tls.cert and tls.key point; the server loads it.'
  if (ends <= now) return say.failed(`The certificate expired on ${on}.`, renew)
  if (Date.parse(certificate.validFrom) > now)
    return say.failed(`The certificate is valid only from ${certificate.validFrom}.`, 'Check the clock, or wait.')
  if (!names(certificate, hostname)) {
    return say.failed(
      `The certificate is not for ${hostname}, but for ${certificate.subjectAltName ?? certificate.subject}.`,
      `Get one for ${hostname}.`,
    )
  }
  if (ends - now < warnBefore && !isMade) return say.warning(`The certificate expires on ${on}.`, renew)
  if (isSelfSigned(certificate) && isMade) {
    return say.warning(
      `Sterna made this self-signed certificate itself, and replaces it before ${on}: apps that verify certificates refuse to send.`,
      `Set acme.enabled to get one from Let's Encrypt, or set tls.cert and tls.key to a certificate for ${hostname}, or have your apps ` +
        `trust tls/self-signed.crt in data_dir (SHA-256 ${certificate.fingerprint256}).`,
    )
  }
  if (isSelfSigned(certificate)) {
    return say.warning(
      'The certificate is self-signed: clients that verify it refuse to send.',
      `Set tls.cert and tls.key to a certificate for ${hostname} from a public authority, such as Let's Encrypt.`,
    )
  }
  return say.ok(`The certificate for ${hostname} is valid until ${on}${isIssued ? ', and is renewed before' : ''}.`)
}

/** names */
const mostTold = 10

/** The names for which an authority gave us no certificate at the last attempt, and what to do about each. */
export function judgeAttempts({ names }: Pick<AttemptState, 'names'>, hostname: string): Finding[] {
  const say = sayOf('certificate')
  const failing = Object.entries(names).flatMap(([name, { problem, nextAt }]) => (problem ? [{ name, problem, nextAt }] : []))
  const told = failing
    .slice(0, mostTold)
    .map(({ name, problem, nextAt }) =>
      say[name === hostname ? 'failed' : 'warning'](
        `There is no new certificate for ${name}: ${problem.detail}`,
        `${adviceFor(problem)} The next attempt is at ${isoTime(nextAt)}; SIGHUP brings it forward.`,
      ),
    )
  if (failing.length <= mostTold) return told
  return [...told, say.warning(`${failing.length - mostTold} more names have no new certificate.`, 'The log has the reason for each.')]
}

function parse(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}

const names = (certificate: X509Certificate, hostname: string): boolean =>
  (isIP(hostname) ? certificate.checkIP(hostname) : certificate.checkHost(hostname)) !== undefined

/** Not `checkIssued`, which is false of a certificate that may not sign others, such as our own. */
const isSelfSigned = (certificate: X509Certificate): boolean =>
  certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey)
