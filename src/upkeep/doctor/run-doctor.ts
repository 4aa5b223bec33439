import type { BaseServices } from '../../platform/base-services.ts'
import { isIP } from 'node:net'
import { randomBytes } from 'node:crypto'
import type { Config } from '../../platform/config/settings.ts'
import { judgeOpenFiles } from '../../platform/connection/open-files.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { newestTime } from '../../mail/event/newest-time.ts'
import { proveLogin } from '../../mail-out/delivery/prove-login.ts'
import type { SmarthostTokens } from '../../mail-out/oauth/smarthost-tokens.ts'
import { listNodes, type ListedNode } from '../../platform/store/node-rows.ts'
import type { Accounts } from '../../senders/account/accounts.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { authorityName } from '../../platform/certificate/acme-certificates.ts'
import { keptAttempts } from '../../platform/certificate/acme-state.ts'
import { issuedId, keptChain, selfSigned } from '../../platform/certificate/certificate-rows.ts'
import { realHost, type DoctorHost } from './doctor-host.ts'
import { judgeAccounts } from './examine-accounts.ts'
import { examineBaseUrl } from './examine-base-url.ts'
import { examineBlocklists } from './examine-blocklists.ts'
import { judgeAttempts, judgeCertificate } from './examine-certificate.ts'
import { judgeClock, judgeClockAgainstLog } from './examine-clock.ts'
import { judgeDatabase, judgeDirectory, judgeDisk } from './examine-disk.ts'
import { type ExaminedDomain, examineDomains, judgeReturnPath } from './examine-domains.ts'
import { addressesOf, judgeHostName, publishedFor, someOfEachFamily } from './examine-host-name.ts'
import { judgeFamilies } from './examine-families.ts'
import { judgeNodes } from './examine-nodes.ts'
import { examineKeyFile } from './examine-key-file.ts'
import { examinePort25 } from './examine-port-25.ts'
import { examineEachServer, examineResolver } from './examine-resolver.ts'
import { judgeSmarthostLogin } from './examine-smarthost.ts'
import { judgeTlsReports } from './examine-tls-reports.ts'
import { examineWayBack } from './examine-way-back.ts'
import { examineNames, examineSources } from './examine-sources.ts'
import { checkNames, type CheckName, type Finding, sayOf } from './finding.ts'
import { namedAddresses } from './named-addresses.ts'

interface DoctorServices extends Pick<BaseServices, 'db' | 'clock' | 'files'> {
  config: Config
  resolver: DnsResolver
  /** All that run on this database. */
  nodes: readonly ListedNode[]
  /** Each with its records. */
  domains: ExaminedDomain[]
  /** The newest time in the database, epoch ms; null if there is none. */
  newestTime: number | null
  host: DoctorHost
  smarthostLogin(): Promise<Finding[]>
}

/** Examines this server, all of its domains, and the machine it runs on, but not what `examineNodes` does. */
export async function examination(
  services: Omit<DoctorServices, 'domains' | 'newestTime' | 'nodes' | 'host' | 'smarthostLogin'> & {
    sendingDomains: SendingDomains
    accounts: Pick<Accounts, 'list'>
    smarthostTokens: SmarthostTokens
  },
): Promise<Finding[]> {
  const { sendingDomains, db, clock, files } = services
  const domains = sendingDomains.list().map((domain) => ({ domain, records: sendingDomains.records(domain) }))
  const [newest, nodes] = await Promise.all([newestTime(db), listNodes({ db, clock })])
  const findings = [
    ...(await runDoctor({
      ...services,
      domains,
      newestTime: newest,
      nodes,
      host: realHost,
      smarthostLogin: () => smarthostLogin(services),
    })),
    ...judgeTlsReports(services.config, sendingDomains),
    ...judgeAccounts(services.accounts.list(), clock.now()),
  ]
  return files === null ? findings : [...findings, judgeDatabase(await files.upkeep.needsRewriting())]
}

async function smarthostLogin({
  config,
  resolver,
  clock,
  smarthostTokens: tokens,
}: Pick<DoctorServices, 'config' | 'resolver' | 'clock'> & { smarthostTokens: SmarthostTokens }): Promise<Finding[]> {
  const proof = await proveLogin({ config, resolver, now: clock.now(), tokens })
  return judgeSmarthostLogin(config.delivery, proof, tokens.grant && (await tokens.state()))
}

/** What the nodes say of themselves. */
export async function examineNodes({ db, clock }: Pick<DoctorServices, 'db' | 'clock'>): Promise<Finding[]> {
  return judgeNodes(await listNodes({ db, clock }))
}

/** The time limit for all checks together, ms. */
const maxMs = 25_000

/** Runs all checks at the same time. Checks still running after 25 seconds are reported as skipped. */
export async function runDoctor(services: DoctorServices): Promise<Finding[]> {
  const startedAt = performance.now()
  const isOver = (): boolean => performance.now() - startedAt > maxMs / 2
  const { config, resolver, domains } = services
  const checks: [CheckName, Promise<Finding[]>][] = [
    ['resolver', examineResolver(resolver, `sterna-${randomBytes(8).toString('hex')}`, config.dns)],
    ['resolver', examineEachServer(resolver.eachServer)],
    ['port_25', examineWayOut(services)],
    ['smarthost', config.mode === 'sandbox' ? Promise.resolve([]) : services.smarthostLogin()],
    ['host_name', examineAddresses(services)],
    ['return_path', examineReturnPath(services)],
    ['reachable', examineListeners(services)],
    ['domain', examineDomains(domains, resolver, isOver)],
    ['certificate', examineCertificate(services)],
    ['base_url', examineBaseUrl(config.baseUrl, services.host.askHealth).then((finding) => [finding])],
    ['clock', examineClock(services)],
    ['disk', examineStorage(services, config.dataDir)],
    ['key_file', examineKeyFile(config.secretKeyFile, services.db)],
    ['open_files', Promise.resolve([examineOpenFiles(services)])],
  ]
  const findings = (await Promise.all(checks.map(([check, work]) => inTime(check, work)))).flat()
  return findings.toSorted((a, b) => checkNames.indexOf(a.check) - checkNames.indexOf(b.check))
}

async function inTime(check: CheckName, work: Promise<Finding[]>): Promise<Finding[]> {
  const { promise: late, resolve } = Promise.withResolvers<Finding[]>()
  const timer = setTimeout(() => resolve([sayOf(check).skipped('too_slow')]), maxMs)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

async function examineWayOut({ config, resolver, host }: DoctorServices): Promise<Finding[]> {
  const say = sayOf('port_25')
  if (config.mode === 'sandbox') return [say.skipped('port_25_sandbox')]
  const { smarthost, smarthostTls } = config.delivery
  const hosts = smarthost ? [{ ...smarthost, isTls: smarthostTls === 'implicit' }] : config.doctor.port25Hosts
  const [bySystem, bySource] = await Promise.all([
    examinePort25(hosts, resolver, host.greet),
    examineSources(config.delivery.sourceAddresses, hosts, { ...host, resolver }),
  ])
  return [...bySystem, ...bySource]
}

async function examineAddresses({ config, resolver, host, nodes }: DoctorServices): Promise<Finding[]> {
  const { hostname, delivery, doctor } = config
  const sources = delivery.sourceAddresses
  const ofMachine = await namedAddresses({ hostname, sources, resolver }, host.interfaceAddresses())
  const told = new Set(nodes.flatMap(({ addresses }) => addresses))
  for (const { address } of ofMachine) told.delete(address)
  if (delivery.smarthost) {
    const named = judgeHostName(hostname, await publishedFor(hostname, resolver), ofMachine)
    return [named, ...(['reverse_dns', 'dnsbl'] as const).map((check) => sayOf(check).skipped('via_smarthost'))]
  }
  // What other nodes call themselves at theirs is known to them.
  const ofOthers = [...told].map((address) => ({ address, isOwn: true, name: hostname }))
  const [named, listings] = await Promise.all([
    examineNames(hostname, sources.length > 0 ? ofMachine : [...ofMachine, ...ofOthers], resolver),
    examineBlocklists(doctor.dnsbls, [...new Set([...ofMachine, ...ofOthers].map(({ address }) => address))], resolver),
  ])
  return [...named, ...listings]
}

async function examineReturnPath({ config, resolver, host }: DoctorServices): Promise<Finding[]> {
  const { hostname, returnPath } = config
  const names = { hostname, returnPathDomain: returnPath.domain, isListening: returnPath.listen.length > 0 }
  const [{ status, records }, wayBack] = await Promise.all([resolver.txt(returnPath.domain), examineWayBack(names, resolver, host.greet)])
  return [judgeReturnPath(names, status === 'servfail' ? null : records), ...wayBack]
}

async function examineListeners({ config, resolver, host }: DoctorServices): Promise<Finding[]> {
  const { hostname, http, submission, returnPath } = config
  const found = await publishedFor(hostname, resolver)
  const listening = [
    { name: 'return_path.listen', places: returnPath.listen },
    { name: 'submission.listen', places: submission.listen },
    { name: 'submission.tls_listen', places: submission.tlsListen },
    { name: 'http.listen', places: http.listen },
    { name: 'http.tls_listen', places: http.tlsListen },
  ]
  return judgeFamilies({ host: hostname, found, interfaceAddresses: host.interfaceAddresses(), listening })
}

async function examineCertificate({ config, clock, db, host }: DoctorServices): Promise<Finding[]> {
  const { hostname, tls, acme } = config
  const authority = authorityName(acme.directory)
  const issued = acme.enabled && tls.cert === null ? await keptChain(db, issuedId(authority, hostname)) : null
  const pem = issued ?? (tls.cert === null ? await keptChain(db, selfSigned.id) : await host.read(tls.cert))
  const isMade = tls.cert === null && issued === null
  const judged = judgeCertificate(pem, { hostname, isMade, isIssued: issued !== null, now: clock.now() })
  if (!acme.enabled) return [judged]
  const failing = judgeAttempts(await keptAttempts(db, authority), hostname)
  // Why there is none says more than that the stand-in is self-signed.
  return isMade && failing.length > 0 ? failing : [judged, ...failing]
}

async function examineClock({ config, clock, resolver, host, newestTime }: DoctorServices): Promise<Finding[]> {
  const againstLog = judgeClockAgainstLog(newestTime, clock.now())
  const server = config.doctor.ntpServer
  if (!server) return [judgeClock(null, null), ...againstLog]
  const addresses = isIP(server.host) ? [server.host] : someOfEachFamily(await addressesOf(server.host, resolver))
  // Of a family that this machine lacks, no answer comes.
  const offsets = await Promise.all(addresses.map((address) => host.clockOffset(address, server.port)))
  return [judgeClock(server.host, offsets.find((offset) => offset !== null) ?? null), ...againstLog]
}

function examineOpenFiles({ host }: DoctorServices): Finding {
  return { check: 'open_files', ...judgeOpenFiles(host.openFileLimit()) }
}

async function examineStorage({ config, files, host }: DoctorServices, directory: string): Promise<Finding[]> {
  const paths = [directory, ...(files === null ? [] : [files.paths.database, files.paths.log]), config.secretKeyFile]
  const [space, ...modes] = await Promise.all([host.diskSpace(directory), ...paths.map((path) => host.mode(path))])
  const known = paths.flatMap((path, i) => (modes[i] == null ? [] : [{ path, mode: modes[i] }]))
  const disk = space ? judgeDisk(space, config.storage.reserve) : sayOf('disk').skipped('disk_silent', { directory })
  return [disk, judgeDirectory(directory, known)]
}
