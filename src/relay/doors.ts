import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { RefusedLogins } from '../account/refused-logins.ts'
import type { CoreParts } from '../core.ts'
import { connectionFigures } from '../connection/connection-figures.ts'
import { startReturnPathServer } from '../feedback/return-path-server.ts'
import { EmailComposer } from '../http/api/email-composer.ts'
import { startMetricsListener, type MetricsListener } from '../http/metrics-listener.ts'
import { RateLimit } from '../http/rate-limit.ts'
import { startMessageParser } from '../message/message-parser.ts'
import { accept } from '../submission/accept.ts'
import { CertificateRenewal } from '../smtp-server/certificate-renewal.ts'
import { loadOrMakeCertificate, type Certificate } from '../smtp-server/self-signed-certificate.ts'
import { startSubmissionServer } from '../submission/submission-server.ts'
import { unsubscribeKeys } from '../suppression/unsubscribe-token.ts'
import type { DoorFrame, Inside, Stop } from './services.ts'
import { openHttp } from './http-door.ts'

/** How long requests that are under way may take when the relay stops, ms. */
const graceMs = 3_000

/** Where the relay listens. */
export interface DoorAddresses {
  http: AddressInfo[]
  submission: AddressInfo[]
  returnPath: AddressInfo[]
  metrics: AddressInfo[]
}

interface Doors {
  addresses: DoorAddresses
  certificate: CertificateRenewal
  refusedLogins: RefusedLogins
}

/** Opens SMTP submission, the return path and HTTP, with all that they need and nobody else does. */
export async function openDoors(core: CoreParts, inside: Inside, stops: Stop[]): Promise<Doors> {
  const { clock, config, log } = core
  const messageParser = startMessageParser()
  stops.push(() => messageParser.stop())
  const { templates } = core
  const { messageSizeLimit, baseUrl } = config
  const unsubscribe = { keys: unsubscribeKeys(core.secrets.deriveKey), baseUrl }
  const composer = new EmailComposer({ clock, templates: templates.live, messageSizeLimit, unsubscribe })
  stops.push(() => composer.stop())

  const rateLimit = new RateLimit(core, { plans: config.plans, defaultPlan: config.accounts.defaultPlan })
  await rateLimit.start()
  stops.push(() => rateLimit.stop())

  const tls = await certificateFor(core)
  if (tls.origin === 'made') {
    log.warn({ fingerprint: tls.fingerprint }, 'made a self-signed certificate: set tls.cert and tls.key to one that clients trust')
  }
  const refusedLogins = new RefusedLogins(log)
  stops.push(() => refusedLogins.tell())
  const frame: DoorFrame = { templates, messageParser, composer, rateLimit, refusedLogins, tls }
  const doors: { useCertificate(tls: Certificate): void; stop(graceMs: number): Promise<void> }[] = []
  stops.push(() => Promise.all(doors.map((door) => door.stop(graceMs))))
  const submission = await openSubmission(core, inside, frame)
  doors.push(submission)
  const returnPath = await openReturnPath(core, inside, frame)
  doors.push(returnPath)
  const http = await openHttp(core, inside, frame)
  doors.push(http)
  inside.certified.use(tls)
  core.metricsPage.add(connectionFigures(core.metrics, { http, submission, return_path: returnPath }))
  const metrics = await openMetrics(core, inside, stops)
  const certificate = new CertificateRenewal(tls, {
    load: () => certificateFor(core),
    use(renewed) {
      for (const door of doors) door.useCertificate(renewed)
      inside.certified.use(renewed)
    },
    log,
  })
  const addresses = { http: http.addresses, submission: submission.addresses, returnPath: returnPath.addresses, metrics: metrics.addresses }
  return { addresses, certificate, refusedLogins }
}

async function openMetrics({ config, log, metricsPage }: CoreParts, { version }: Inside, stops: Stop[]): Promise<MetricsListener> {
  const listener = await startMetricsListener({
    listen: config.metrics.listen,
    trustedProxies: config.trustedProxies,
    log,
    text: () => metricsPage.text(version),
  })
  stops.push(() => listener.stop())
  return listener
}

const certificateFor = ({ config, clock }: CoreParts): Promise<Certificate> =>
  loadOrMakeCertificate({
    certFile: config.tls.cert,
    keyFile: config.tls.key,
    directory: join(config.dataDir, 'tls'),
    hostname: config.hostname,
    now: clock.now(),
  })

const openSubmission = (
  { config, clock, log, metrics, apiKeys }: CoreParts,
  { door, space, shares }: Inside,
  { tls, refusedLogins }: DoorFrame,
) =>
  startSubmissionServer(
    {
      clock,
      log,
      metrics,
      tls,
      space,
      accept: (arrive) => accept(arrive, door),
      apiKeys,
      refusedLogins,
    },
    {
      hostname: config.hostname,
      maxMessageBytes: config.messageSizeLimit,
      maxConnections: shares.submission,
      trustedProxies: config.trustedProxies,
      ...config.submission,
    },
  )

function openReturnPath(
  { config, clock, log, metrics, secrets, sendingDomains }: CoreParts,
  { space, reports, shares }: Inside,
  { tls }: DoorFrame,
) {
  const ownNames = new Set([config.hostname, config.returnPath.domain])
  const isOurs = (domain: string): boolean => ownNames.has(domain) || sendingDomains.isReturnPath(domain)
  const parts = { clock, log, metrics, tls, space, reports, isOurs, tokenKey: secrets.deriveKey('verp') }
  const { hostname, trustedProxies } = config
  return startReturnPathServer(parts, { hostname, maxConnections: shares.returnPath, trustedProxies, ...config.returnPath })
}
