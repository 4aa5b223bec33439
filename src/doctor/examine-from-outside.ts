import { isIP } from 'node:net'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress } from '../ip-address.ts'
import { examineReverseDns } from './examine-host-name.ts'
import { shown } from './examine-port-25.ts'
import { sayOf, type Finding } from './finding.ts'
import type { Door, Fault, SeenSmtp, SeenTls, SeenWeb } from './outside-probe.ts'

interface OutsideServices {
  resolver: Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>
  /** What this machine calls itself. */
  ehloName: string
  /** Epoch, ms. */
  now: number
  probeSmtp(door: Door, ehloName: string): Promise<SeenSmtp | Fault>
  probeWeb(door: Door): Promise<SeenWeb | Fault>
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
    return [sayOf('host_name').skipped(`${host} could not be looked up.`, 'Check the name servers of this machine, or set dns.servers.')]
  }
  const named = judgeAddresses(host, addresses)
  const looked = addresses.slice(0, mostAddresses)
  const reverse = await examineReverseDns(host, { addresses: looked.filter(isPublicAddress), areOwn: true }, resolver)
  const doors = await Promise.all(looked.map((address) => examineDoors({ host, address }, services, ports)))
  return [named, ...(addresses.some(isPublicAddress) ? reverse : []), ...doors.flat()]
}

function judgeAddresses(host: string, addresses: string[]): Finding {
  const say = sayOf('host_name')
  if (addresses.length === 0) return say.failed(`${host} has no address in the DNS.`, 'Publish an A record (and AAAA) for it.')
  const hidden = addresses.filter((address) => !isPublicAddress(address))
  if (hidden.length > 0) {
    const advice = 'Publish only addresses that the internet reaches.'
    return say.failed(`${host} has the address ${hidden.join(', ')}, which is not public: others cannot reach it.`, advice)
  }
  return say.ok(`${host} is ${addresses.join(', ')}.`)
}

async function examineDoors(at: { host: string; address: string }, services: OutsideServices, ports: OutsidePorts): Promise<Finding[]> {
  const { ehloName, now, probeSmtp, probeWeb } = services
  const door = (port: number, isTls = false): Door => ({ ...at, port, isTls })
  const [returnPath, submission, submissionTls] = [door(ports.returnPath), door(ports.submission), door(ports.submissionTls, true)]
  const [web, plainWeb] = [door(ports.web, true), door(ports.plainWeb)]
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

const placeOf = ({ host, address, port }: Door): string => `Port ${port} of ${host} (${address})`
const say = sayOf('reachable')

/** A machine without IPv6 learns nothing about others'. */
const noWayThere = ({ address }: Door, fault: string): boolean =>
  isIP(address) === 6 && /ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL/.test(fault)

function unreached(door: Door, fault: string, status: 'failed' | 'warning' | 'skipped', advice: string): Finding {
  if (noWayThere(door, fault))
    return say.skipped(`${door.address} cannot be reached: this machine has no IPv6.`, 'Test it from one that has.')
  return say[status](`${placeOf(door)} does not answer: ${fault}.`, advice)
}

export function judgeReturnPath(door: Door, seen: SeenSmtp | Fault): Finding[] {
  if ('fault' in seen) {
    const advice =
      'Bounces and reports do not come back. Forward the port to return_path.listen and open it in the firewall. If this machine can ' +
      'reach no server at port 25 ("sterna doctor" says so), test from another.'
    return [unreached(door, seen.fault, 'failed', advice)]
  }
  return [judgeName(door, seen), judgeRelay(door, seen)]
}

function judgeName(door: Door, { greeting, tls }: SeenSmtp): Finding {
  if (greeting.split(' ', 1)[0]?.toLowerCase() !== door.host) {
    const advice = `Stop it there, or set hostname to ${door.host}.`
    return say.warning(`${placeOf(door)} answers as another server: "${shown(greeting)}".`, advice)
  }
  if (!tls) return say.warning(`${placeOf(door)} offers no TLS, so bounces come back readable.`, 'Check what stands in front of it.')
  return say.ok(`${placeOf(door)} answers with TLS.`)
}

function judgeRelay(door: Door, { isOpenRelay }: SeenSmtp): Finding {
  const relay = sayOf('open_relay')
  if (!isOpenRelay) return relay.ok(`${placeOf(door)} takes no mail for other domains from strangers.`)
  const advice = 'Close the port at once, and find out which server answers there. Sterna relays for nobody without a key.'
  return relay.failed(`${placeOf(door)} takes mail for any domain from strangers: spammers will use it.`, advice)
}

export function judgeSubmission(door: Door, seen: SeenSmtp | Fault, now: number): Finding[] {
  if ('fault' in seen) {
    const advice = 'Apps elsewhere cannot send over SMTP here. That is right if none does; else open the port and forward it.'
    return [unreached(door, seen.fault, 'warning', advice)]
  }
  const open = seen.isOpenRelay ? [judgeRelay(door, seen)] : []
  if (!seen.tls) {
    const advice = 'Check what stands in front of it: Sterna takes no key without TLS.'
    return [say.failed(`${placeOf(door)} offers no TLS, so no app can log in.`, advice), ...open]
  }
  return [judgeTls(door, seen.tls, { now, status: 'warning', who: 'apps that verify it refuse to send' }), ...open]
}

export function judgeWeb(door: Door, seen: SeenWeb | Fault, now: number): Finding {
  const forward = 'Open the port, and have http.tls_listen or a proxy answer there.'
  if ('fault' in seen) return unreached(door, seen.fault, 'warning', `The API, the dashboard and links in mail need it. ${forward}`)
  if (!seen.isSterna)
    return say.warning(`${placeOf(door)} answers, but not as Sterna (HTTP ${seen.status}).`, 'Have the proxy pass requests on.')
  if (!seen.tls) return say.failed(`${placeOf(door)} answers without TLS.`, forward)
  return judgeTls(door, seen.tls, { now, status: 'failed', who: 'browsers and apps refuse it' })
}

function judgeTls(
  door: Door,
  { problem, endsAt }: SeenTls,
  { now, status, who }: { now: number; status: 'failed' | 'warning'; who: string },
): Finding {
  const on = new Date(endsAt).toISOString().slice(0, 10)
  if (problem !== null) {
    return say[status](
      `The certificate at port ${door.port} of ${door.host} (${door.address}) ${problem}: ${who}.`,
      `Get one for ${door.host}.`,
    )
  }
  if (endsAt - now < warnBefore) return say.warning(`The certificate at port ${door.port} of ${door.host} expires on ${on}.`, 'Renew it.')
  return say.ok(`${placeOf(door)} answers with a certificate that is valid until ${on}.`)
}

function judgePlainWeb(door: Door, seen: SeenWeb | Fault): Finding {
  if ('fault' in seen)
    return unreached(door, seen.fault, 'skipped', 'Only certificates that are obtained over HTTP need it, and browsers that begin there.')
  if (seen.isSterna) {
    const advice = 'API keys can be read on the way. Let the proxy redirect to https, or close the port.'
    return say.warning(`${placeOf(door)} answers as Sterna without TLS.`, advice)
  }
  return say.ok(`${placeOf(door)} answers (HTTP ${seen.status}).`)
}
