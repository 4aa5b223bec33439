import { isIP } from 'node:net'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import { examineReverseDns, someOfEachFamily } from './examine-host-name.ts'
import { hasNoWay, shown } from './examine-port-25.ts'
import { sayOf, type Finding } from './finding.ts'
import type { RemotePort, Fault, SeenSmtp, SeenTls, SeenWeb } from './outside-probe.ts'

interface OutsideServices {
  resolver: Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>
  /** What this machine calls itself. */
  ehloName: string
  /** Epoch, ms. */
  now: number
  probeSmtp(remote: RemotePort, ehloName: string): Promise<SeenSmtp | Fault>
  probeWeb(remote: RemotePort): Promise<SeenWeb | Fault>
}

/** Where a server is looked for. */
const usualPorts = { returnPath: 25, submission: 587, submissionTls: 465, web: 443, plainWeb: 80 }
export type OutsidePorts = typeof usualPorts

const warnBefore = 14 * 86_400_000

/** Examines another server as the internet sees it: its addresses, its ports, its certificates, and what it takes from strangers. */
export async function examineFromOutside(host: string, services: OutsideServices, ports: OutsidePorts = usualPorts): Promise<Finding[]> {
  const { resolver } = services
  const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
  const addresses = answers.flatMap(({ records }) => records)
  if (addresses.length === 0 && answers.some(({ status }) => status === 'servfail')) {
    return [sayOf('host_name').skipped('host_name_unknown', { host })]
  }
  const named = judgeAddresses(host, addresses)
  const looked = someOfEachFamily(addresses)
  const sending = looked.filter(isPublicAddress).map((address) => ({ address, isOwn: true }))
  const [reverse, seen] = await Promise.all([
    examineReverseDns(host, sending, resolver),
    Promise.all(looked.map((address) => probePorts({ host, address }, services, ports))),
  ])
  return [named, ...(sending.length > 0 ? reverse : []), ...seen.flatMap((each) => judgePorts(each, seen))]
}

function judgeAddresses(host: string, addresses: string[]): Finding {
  const say = sayOf('host_name')
  if (addresses.length === 0) return say.failed('host_name_without_address', { host })
  const hidden = addresses.filter((address) => !isPublicAddress(address))
  if (hidden.length > 0) return say.failed('host_name_not_public', { host, addresses: hidden.join(', ') })
  return say.ok('host_name_fine', { host, addresses: addresses.join(', ') })
}

/** A port as it was seen. */
interface SeenPort {
  remote: RemotePort
  /** Why it does not answer; null if it does. */
  fault: string | null
  judge(): Finding[]
}

type Look = (remote: RemotePort, services: OutsideServices) => Promise<SeenPort>
/** The ports of one address. */
type SeenPorts = Record<keyof OutsidePorts, SeenPort>

const faultOf = (seen: object): string | null => ('fault' in seen ? (seen as Fault).fault : null)

const overSmtp =
  (judge: (remote: RemotePort, seen: SeenSmtp | Fault, now: number) => Finding[]): Look =>
  async (remote, { probeSmtp, ehloName, now }) => {
    const seen = await probeSmtp(remote, ehloName)
    return { remote, fault: faultOf(seen), judge: () => judge(remote, seen, now) }
  }

const overHttp =
  (judge: (remote: RemotePort, seen: SeenWeb | Fault, now: number) => Finding): Look =>
  async (remote, { probeWeb, now }) => {
    const seen = await probeWeb(remote)
    return { remote, fault: faultOf(seen), judge: () => [judge(remote, seen, now)] }
  }

/** In the order of the findings. */
const portTable: Record<keyof OutsidePorts, { setting: string; isTls: boolean; look: Look }> = {
  returnPath: { setting: 'return_path.listen', isTls: false, look: overSmtp(judgeReturnPath) },
  submission: { setting: 'submission.listen', isTls: false, look: overSmtp(judgeSubmission) },
  submissionTls: { setting: 'submission.tls_listen', isTls: true, look: overSmtp(judgeSubmission) },
  web: { setting: 'http.tls_listen', isTls: true, look: overHttp(judgeWeb) },
  plainWeb: { setting: 'http.listen', isTls: false, look: overHttp(judgePlainWeb) },
}
const portNames = Object.keys(portTable) as (keyof OutsidePorts)[]

async function probePorts(at: { host: string; address: string }, services: OutsideServices, ports: OutsidePorts): Promise<SeenPorts> {
  const look = async (name: keyof OutsidePorts): Promise<[string, SeenPort]> => {
    const { isTls, look: lookAt } = portTable[name]
    return [name, await lookAt({ ...at, port: ports[name], isTls }, services)]
  }
  return Object.fromEntries(await Promise.all(portNames.map(look))) as SeenPorts
}

/** @param all of every address: a port that answers over the other family is open, and only ours to extend */
function judgePorts(ports: SeenPorts, all: SeenPorts[]): Finding[] {
  return portNames.flatMap((name) => {
    const { remote, fault, judge } = ports[name]
    const answers = ({ [name]: other }: SeenPorts): boolean => isIP(other.remote.address) !== isIP(remote.address) && other.fault === null
    if (fault === null || hasNoWay({ fault }) || !all.some(answers)) return judge()
    const code = isIP(remote.address) === 6 ? 'outside_only_ipv4' : 'outside_only_ipv6'
    return [say[name === 'returnPath' ? 'failed' : 'warning'](code, { ...placeOf(remote), fault, setting: portTable[name].setting })]
  })
}

const placeOf = ({ host, address, port }: RemotePort) => ({ host, address, port })
const say = sayOf('reachable')

function unreached(
  remote: RemotePort,
  fault: string,
  status: 'failed' | 'warning' | 'skipped',
  use: 'return_path' | 'submission' | 'web' | 'plain_web',
): Finding {
  if (hasNoWay({ fault }))
    return say.skipped(isIP(remote.address) === 6 ? 'outside_no_ipv6' : 'outside_no_ipv4', { address: remote.address })
  return say[status](`outside_${use}_silent`, { ...placeOf(remote), fault })
}

export function judgeReturnPath(remote: RemotePort, seen: SeenSmtp | Fault): Finding[] {
  if ('fault' in seen) return [unreached(remote, seen.fault, 'failed', 'return_path')]
  return [judgeName(remote, seen), judgeRelay(remote, seen)]
}

function judgeName(remote: RemotePort, { greeting, tls }: SeenSmtp): Finding {
  if (greeting.split(' ', 1)[0]?.toLowerCase() !== remote.host) {
    return say.warning('outside_return_path_taken', { ...placeOf(remote), greeting: shown(greeting) })
  }
  return tls ? say.ok('outside_return_path_fine', placeOf(remote)) : say.warning('outside_return_path_without_tls', placeOf(remote))
}

function judgeRelay(remote: RemotePort, { isOpenRelay }: SeenSmtp): Finding {
  const relay = sayOf('open_relay')
  return isOpenRelay ? relay.failed('open_relay', placeOf(remote)) : relay.ok('no_open_relay', placeOf(remote))
}

function judgeSubmission(remote: RemotePort, seen: SeenSmtp | Fault, now: number): Finding[] {
  if ('fault' in seen) return [unreached(remote, seen.fault, 'warning', 'submission')]
  const open = seen.isOpenRelay ? [judgeRelay(remote, seen)] : []
  if (!seen.tls) return [say.failed('outside_submission_without_tls', placeOf(remote)), ...open]
  return [judgeTls(remote, seen.tls, { now, status: 'warning', by: 'apps' }), ...open]
}

export function judgeWeb(remote: RemotePort, seen: SeenWeb | Fault, now: number): Finding {
  if ('fault' in seen) return unreached(remote, seen.fault, 'warning', 'web')
  if (!seen.isSterna) return say.warning('outside_web_taken', { ...placeOf(remote), status: seen.status })
  if (!seen.tls) return say.failed('outside_web_without_tls', placeOf(remote))
  return judgeTls(remote, seen.tls, { now, status: 'failed', by: 'browsers' })
}

function judgeTls(
  remote: RemotePort,
  { problem, endsAt }: SeenTls,
  { now, status, by }: { now: number; status: 'failed' | 'warning'; by: 'apps' | 'browsers' },
): Finding {
  const place = placeOf(remote)
  const date = new Date(endsAt).toISOString().slice(0, 10)
  if (problem !== null) return say[status](`outside_certificate_refused_by_${by}`, { ...place, problem })
  if (endsAt - now < warnBefore) return say.warning('outside_certificate_expires', { ...place, date })
  return say.ok('outside_certificate_fine', { ...place, date })
}

function judgePlainWeb(remote: RemotePort, seen: SeenWeb | Fault): Finding {
  if ('fault' in seen) return unreached(remote, seen.fault, 'skipped', 'plain_web')
  if (seen.redirects) return say.ok('outside_plain_web_redirects', placeOf(remote))
  if (seen.isSterna) return say.warning('outside_plain_web_open', placeOf(remote))
  return say.ok('outside_plain_web_fine', { ...placeOf(remote), status: seen.status })
}
