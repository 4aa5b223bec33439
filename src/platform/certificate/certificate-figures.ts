import type { Gauges } from '../metrics/metrics-page.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { AcmeCertificates } from './acme-certificates.ts'
import type { ServerCertificates } from './server-certificates.ts'

interface CertificateFiguresServices {
  server: ServerCertificates
  acme: AcmeCertificates | null
  metrics: Metrics
  names: { server: string; web: string | null; tracking: readonly string[] }
}

/** When the certificates expire. */
export const certificateFigures = ({ server, acme, metrics, names }: CertificateFiguresServices): Gauges => ({
  part: 'certificates',
  gauges: [...Object.values(metrics.certificateExpiry), metrics.certificatesFailing],
  goodForMs: 60_000,
  read() {
    const seconds = (ms: number): number => (ms === Infinity ? Number.NaN : ms / 1000)
    const { certificateExpiry: expiry } = metrics
    expiry.server.set(seconds(server.expiryFor(names.server)))
    expiry.web.set(seconds(names.web === null ? Infinity : server.expiryFor(names.web)))
    const covered = names.tracking.filter((name) => server.covers(name))
    expiry.tracking.set(seconds(covered.reduce((soonest, name) => Math.min(soonest, server.expiryFor(name)), Infinity)))
    metrics.certificatesFailing.set(acme?.failing ?? 0)
  },
})
