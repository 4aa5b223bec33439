import type { Config } from '../../platform/config/settings.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { LeaseDeadline } from '../../platform/store/lease-deadline.ts'
import type { KnownToken } from '../oauth/known-token.ts'
import { ClassicalHosts } from './classical-hosts.ts'
import { deliveryOptions } from './delivery-options.ts'
import { standardTimeouts } from './delivery-timeouts.ts'
import { LoginGates } from './login-gates.ts'
import { MxConnection } from './mx-connection.ts'
import { openConnection, type ConnectionServices } from './open-connection.ts'
import { PipeliningTroubles } from './pipelining-troubles.ts'
import { ownNames, routeTo, type RouteHost } from './route.ts'
import { SmarthostAccess } from './smarthost-access.ts'
import { trustContexts } from './tls-policy.ts'
import { TlsSessions } from './tls-sessions.ts'
import { Transcript } from './transcript.ts'
import { transportPolicy } from './transport-policy.ts'

interface ProofServices {
  config: Config
  resolver: Resolver
  /** Epoch, ms. */
  now: number
  tokens: { known(): Promise<KnownToken>; renew(serial: number): Promise<void> }
}

/** What came of the login; `isLogin`: the host was reached, and refused it. */
export type LoginProof = { mechanism: string } | { fault: string; isLogin: boolean }

/** For the whole of it, ms. */
const timeMs = 20_000

/** Connects to the smarthost as delivery does, logs in, and says goodbye. Null if it is not logged in to. Never rejects. */
export async function proveLogin(services: ProofServices): Promise<LoginProof | null> {
  const { config, resolver } = services
  const { smarthost, port, ...options } = deliveryOptions(config)
  if (!smarthost?.login) return null
  const ours = { guard: options, ownNames: ownNames(options), port, smarthost, random: Math.random }
  const route = await routeTo(smarthost.host, { ...ours, resolver })
  if ('outcome' in route) return { fault: 'reason' in route.outcome ? route.outcome.reason : smarthost.host, isLogin: false }
  const opening = await connectionServices(services, options)
  let proof: LoginProof = { fault: smarthost.host, isLogin: false }
  for (const host of route.hosts) {
    proof = await tryHost(host, opening, services.now)
    if ('mechanism' in proof || proof.isLogin) return proof
  }
  return proof
}

async function tryHost(host: RouteHost, services: ConnectionServices, now: number): Promise<LoginProof> {
  const transcript = new Transcript()
  const policy = transportPolicy(host, { recipientTls: null, senderTls: 'opportunistic', transfer: null }, null)
  const opened = await openConnection(host, policy, services, { at: now, transcript, endsAt: performance.now() + timeMs, connected: null })
  const mechanism = transcript.lines.findLast(([, side, line]) => side === 'c' && line.startsWith('AUTH '))?.[2].slice('AUTH '.length)
  if (opened instanceof MxConnection) {
    opened.quit()
    return { mechanism: mechanism ?? '' }
  }
  const reason =
    typeof opened === 'string' || !('reason' in opened.outcome) ? 'this process may open no more sockets' : opened.outcome.reason
  return { fault: reason, isLogin: mechanism !== undefined }
}

async function connectionServices(
  { config, now, tokens }: ProofServices,
  { extraAuthorities = [] }: { extraAuthorities?: string[] },
): Promise<ConnectionServices> {
  const access = new SmarthostAccess((serial) => void tokens.renew(serial).then(async () => access.learn(await tokens.known())))
  if (config.delivery.smarthostOauth !== null) access.learn(await tokens.known())
  return {
    ehloName: config.hostname,
    timeouts: standardTimeouts,
    secureContextFor: trustContexts(extraAuthorities),
    classicalHosts: new ClassicalHosts(() => {}),
    noteTls: () => {},
    noteSession: null,
    pipelining: new PipeliningTroubles(),
    sessions: new TlsSessions(() => now),
    loginGates: new LoginGates(() => {}),
    smarthostAccess: access,
    lease: new LeaseDeadline(),
  }
}
