import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AcmeCertificates } from '../../platform/certificate/acme-certificates.ts'
import { certificateFigures } from '../../platform/certificate/certificate-figures.ts'
import { CertificateRenewal } from '../../platform/certificate/certificate-renewal.ts'
import { loadOrMakeCertificate, type Certificate } from '../../platform/certificate/self-signed-certificate.ts'
import { ServerCertificates, type TlsFiles } from '../../platform/certificate/server-certificates.ts'
import { TicketKeys } from '../../platform/certificate/ticket-keys.ts'
import { wantedNames, webHostOf } from '../../platform/certificate/wanted-names.ts'
import type { Core } from '../../api/core.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Opened } from './opened.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** The certificates of all ports with TLS. */
export interface Certificates {
  server: ServerCertificates
  tickets: TicketKeys
  /** Null if it is switched off. */
  acme: AcmeCertificates | null
  /** Looks for new ones: on disk, and at the authority. */
  renewal: CertificateRenewal
  /** What hears of a new certificate. */
  users: ((tls: TlsFiles) => void)[]
}

/** @throws SternaError `configuration` if the configured certificate cannot be used */
export async function openCertificates(opened: Opened): Promise<Certificates> {
  const { config, log, metrics, metricsPage } = opened
  const own = await ownCertificate(opened)
  const acme = config.acme.enabled ? await openAcme(opened, (name) => server.ownCovers(name)) : null
  const tickets = new TicketKeys(opened, opened.secrets)
  await tickets
    .look()
    .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'clients cannot resume TLS sessions from before the start'))
  const server = new ServerCertificates({ own, acme, hostname: config.hostname, tickets })
  if (own.origin === 'made' && !acme)
    log.warn({ fingerprint: own.fingerprint }, 'made a self-signed certificate: set acme.enabled, or tls.cert and tls.key')
  const users: Certificates['users'] = []
  const tell = (): void => users.forEach((use) => use(server.files))
  const use = (renewed: Certificate): void => {
    server.useOwn(renewed)
    tell()
  }
  const renewal = new CertificateRenewal(own, { load: () => ownCertificate(opened), use, log })
  if (acme) acme.onIssued = tell
  metricsPage.add(certificateFigures({ server, acme, metrics, names: namesOf(opened) }))
  return { server, tickets, acme, renewal, users }
}

const ownCertificate = ({ config, clock, db, secrets }: Core): Promise<Certificate> =>
  loadOrMakeCertificate({
    certFile: config.tls.cert,
    keyFile: config.tls.key,
    directory: join(config.dataDir, 'tls'),
    db,
    secrets,
    hostname: config.hostname,
    now: clock.now(),
  })

/** Balancers look every few seconds whether a node is there. */
const balancerMs = 5_000

async function openAcme(opened: Opened, isCovered: (name: string) => boolean): Promise<AcmeCertificates> {
  const { config, sendingDomains, version } = opened
  const { directory: authority, ca, email, challenges, eabKeyId, eabKey } = config.acme
  const { hostname, baseUrl, trustedProxies } = config
  const servesHttps = config.http.tlsListen.length > 0
  const acme = new AcmeCertificates(
    { ...opened, random: Math.random },
    {
      authority,
      ca: ca === null ? null : await readAuthorities(ca),
      email,
      externalAccount: eabKeyId === null || eabKey === null ? null : { keyId: eabKeyId, macKey: eabKey.reveal() },
      challenges,
      dataDir: config.dataDir,
      userAgent: `sterna/${version}`,
      firstAfterMs: trustedProxies.length > 0 ? balancerMs : 0,
      wanted: () => wantedNames({ hostname, baseUrl, servesHttps, trackingHosts: sendingDomains.trackingHosts, isCovered }),
      ownNames: new Set([hostname, webHostOf(baseUrl)]),
    },
  )
  await acme.load()
  return acme
}

const readAuthorities = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: unknown) => {
    throw new SternaError('configuration', `acme.ca (${file}) cannot be read: ${reasonOf(cause)}`, { cause })
  })

/** By role, for the metrics. */
const namesOf = ({ config, sendingDomains }: Core) => ({
  server: config.hostname,
  get web() {
    return config.http.tlsListen.length > 0 ? webHostOf(config.baseUrl) : null
  },
  get tracking() {
    return config.http.tlsListen.length > 0 ? sendingDomains.trackingHosts : []
  },
})
