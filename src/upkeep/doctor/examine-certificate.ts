import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { problemKindOf } from '../../platform/certificate/acme-advice.ts'
import type { AttemptState } from '../../platform/certificate/attempt-state.ts'
import { isoTime } from '../../platform/iso-time.ts'
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
  { hostname: host, isMade, isIssued = false, now }: { hostname: string; isMade: boolean; isIssued?: boolean; now: number },
): Finding {
  const say = sayOf('certificate')
  const certificate = pem === null ? null : parse(pem)
  if (!certificate) return isMade ? say.skipped('certificate_none') : say.failed('certificate_unreadable')
  const ends = Date.parse(certificate.validTo)
  const begins = Date.parse(certificate.validFrom)
  const date = new Date(ends).toISOString().slice(0, 10)
  if (ends <= now) {
    return say.failed(isMade ? 'certificate_expired_own' : isIssued ? 'certificate_expired_issued' : 'certificate_expired', { date })
  }
  if (begins > now) return say.failed('certificate_not_yet_valid', { time: isoTime(begins) })
  if (!names(certificate, host)) {
    return say.failed('certificate_other_name', { host, names: certificate.subjectAltName ?? certificate.subject })
  }
  if (ends - now < warnBefore && !isMade) return say.warning(isIssued ? 'certificate_expires_issued' : 'certificate_expires', { date })
  if (isSelfSigned(certificate) && isMade) {
    return say.warning('certificate_own', { host, date, fingerprint: certificate.fingerprint256 })
  }
  if (isSelfSigned(certificate)) return say.warning('certificate_self_signed', { host })
  return say.ok(isIssued ? 'certificate_issued' : 'certificate_fine', { host, date })
}

/** names */
const maxTold = 10

/** The names for which an authority gave us no certificate at the last attempt, and what to do about each. */
export function judgeAttempts({ names }: Pick<AttemptState, 'names'>, hostname: string): Finding[] {
  const say = sayOf('certificate')
  const failing = Object.entries(names).flatMap(([name, { problem, nextAt }]) => (problem ? [{ name, problem, nextAt }] : []))
  const told = failing.slice(0, maxTold).map(({ name, problem, nextAt }) =>
    say[name === hostname ? 'failed' : 'warning'](`no_certificate_${problemKindOf(problem)}`, {
      name,
      detail: problem.detail,
      next_attempt: isoTime(nextAt),
    }),
  )
  if (failing.length <= maxTold) return told
  return [...told, say.warning('no_certificates_more', { count: failing.length - maxTold })]
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
