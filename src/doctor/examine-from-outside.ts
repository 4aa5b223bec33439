import { isIP } from 'node:net'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress } from '../ip-address.ts'
import { examineReverseDns } from './examine-host-name.ts'
import { shown } from './examine-port-25.ts'
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
export const usualPorts = { returnPath: 25, submission: 587, submissionTls: 465, web: 443, plainWeb: 80 }
export type OutsidePorts = typeof usualPorts

const mostAddresses = 4
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
  const looked = addresses.slice(0, mostAddresses)
  const reverse = await examineReverseDns(host, { addresses: looked.filter(isPublicAddress), areOwn: true }, resolver)
  const byAddress = await Promise.all(looked.map((address) => examinePorts({ host, address }, services, ports)))
  return [named, ...(addresses.some(isPublicAddress) ? reverse : []), ...byAddress.flat()]
}

function judgeAddresses(host: string, addresses: string[]): Finding {
  const say = sayOf('host_name')
  if (addresses.length === 0) return say.failed('host_name_without_address', { host })
  const hidden = addresses.filter((address) => !isPublicAddress(address))
  if (hidden.length > 0) return say.failed('host_name_not_public', { host, addresses: hidden.join(', ') })
  return say.ok('host_name_fine', { host, addresses: addresses.join(', ') })
}

async function examinePorts(at: { host: string; address: string }, services: OutsideServices, ports: OutsidePorts): Promise<Finding[]> {
  const { ehloName, now, probeSmtp, probeWeb } = services
  const remote = (port: number, isTls = false): RemotePort => ({ ...at, port, isTls })
  const [returnPath, submission, submissionTls] = [remote(ports.returnPath), remote(ports.submission), remote(ports.submissionTls, true)]
  const [web, plainWeb] = [remote(ports.web, true), remote(ports.plainWeb)]
  const [byReturnPath, bySubmission, bySubmissionTls, byWeb, byPlainWeb] = await Promise.all([
    probeSmtp(returnPath, ehloName),
    probeSmtp(submission, ehloName),
    probeSmtp(submissionTls, ehloName),
    probeWeb(web),
    probeWeb(plainWeb),
  ])
  return [
    ...judgeReturnPath(returnPath, byReturnPath),
    ...judgeSubmission(submission, bySubmission, now),
    ...judgeSubmission(submissionTls, bySubmissionTls, now),
    judgeWeb(web, byWeb, now),
    judgePlainWeb(plainWeb, byPlainWeb),
  ]
}

const placeOf = ({ host, address, port }: RemotePort) => ({ host, address, port })
const say = sayOf('reachable')

/** A machine without IPv6 learns nothing about others'. */
const noWayThere = ({ address }: RemotePort, fault: string): boolean =>
  isIP(address) === 6 && /ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL/.test(fault)

function unreached(
  remote: RemotePort,
  fault: string,
  status: 'failed' | 'warning' | 'skipped',
  use: 'return_path' | 'submission' | 'web' | 'plain_web',
): Finding {
  if (noWayThere(remote, fault)) return say.skipped('outside_no_ipv6', { address: remote.address })
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

export function judgeSubmission(remote: RemotePort, seen: SeenSmtp | Fault, now: number): Finding[] {
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
