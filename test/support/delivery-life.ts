import { expect } from 'vitest'
import { classicalForMs, type ClassicalHost } from '../../src/mail-out/delivery/classical-hosts.ts'
import { ProviderStopList, sweepProviderStops } from '../../src/mail-out/queue/provider-stop-list.ts'
import { ClassicalHostList, sweepClassicalHosts } from '../../src/mail-out/queue/classical-host-list.ts'
import { stopKeptMs, type ProviderStop } from '../../src/mail-out/delivery/provider-stops.ts'
import { stopKey } from '../../src/mail-out/delivery/stop-key.ts'
import type { Fetched } from '../../src/mail-out/mta-sts/fetch-sts-policy.ts'
import type { KnownSts } from '../../src/mail-out/mta-sts/known-sts.ts'
import type { FetchedToken } from '../../src/mail-out/oauth/fetch-token.ts'
import type { SmarthostGrant } from '../../src/mail-out/oauth/smarthost-grant.ts'
import { SmarthostTokens } from '../../src/mail-out/oauth/smarthost-tokens.ts'
import { StsPolicies } from '../../src/mail-out/mta-sts/sts-policies.ts'
import { Secret } from '../../src/platform/config/setting-types.ts'
import { fakeResolver } from './fake-resolver.ts'
import type { TestRelay } from './start-relay.ts'

/** Hosts are found to drop large hellos: one whose week is over is forgotten, and so is one that does so no longer. */
export async function keepClassicalHost({ relay: { services }, clock }: TestRelay): Promise<void> {
  const told: ClassicalHost[] = []
  const list = new ClassicalHostList(services, (host) => told.push(host))
  const [old, fresh] = [
    { key: '192.0.2.1 25', foundAt: clock.now() - classicalForMs },
    { key: '192.0.2.2 25', foundAt: clock.now() },
  ]
  await list.set(old)
  await list.set(fresh)
  const heard = async (read: Promise<void>): Promise<ClassicalHost[]> => (await read, told.splice(0))
  told.length = 0
  expect(await heard(list.load())).toEqual([fresh])
  expect(await heard(list.reload(fresh.key))).toEqual([fresh])
  await sweepClassicalHosts(services.db, clock.now())
  expect(await services.db.read('select id from classical_host where id in (:old, :fresh)', { old: old.key, fresh: fresh.key })).toEqual([
    { id: fresh.key },
  ])
  await list.set({ ...fresh, foundAt: null })
  told.length = 0
  expect(await heard(list.reload(fresh.key))).toEqual([{ ...fresh, foundAt: null }])
  await list.set(fresh)
}

/** Mail to a provider is stopped and flows again, and a stop that is long over is forgotten. */
export async function stopProvider({ relay: { services }, clock }: TestRelay): Promise<void> {
  const told: ProviderStop[] = []
  const list = new ProviderStopList(services, (stop) => told.push(stop))
  const stop = { key: stopKey('provider:google', '192.0.2.1', ''), until: clock.now() + 600_000, step: 0, reason: '421 4.7.28 no' }
  const old = { ...stop, key: stopKey('site:mx.rcpt.example', null, '192.0.2.2'), until: clock.now() - stopKeptMs }
  const heard = async (work: Promise<void>): Promise<ProviderStop[]> => (await work, told.splice(0))
  expect(await heard(list.set(stop))).toEqual([stop])
  const prolonged = { ...stop, until: stop.until + 600_000, step: 1 }
  await list.set(prolonged)
  expect(await heard(list.set(old))).toContainEqual(old)
  expect(await heard(list.load())).toEqual([prolonged])
  expect(await heard(list.reload(stop.key))).toEqual([prolonged])
  await sweepProviderStops(services.db, clock.now())
  expect(await services.db.read('select id from provider_stop')).toEqual([{ id: stop.key }])
  await list.set({ ...stop, until: null })
  told.length = 0
  expect(await heard(list.reload(stop.key))).toEqual([{ key: stop.key, until: null, step: 0, reason: '' }])
}

/** A policy is fetched, used, refreshed, fails to be fetched, and is forgotten when nobody writes to its domain any more. */
export async function useStsPolicy({ relay: { services }, clock }: TestRelay): Promise<void> {
  const told: KnownSts[] = []
  const domain = 'policy.example'
  const zone = { [`_mta-sts.${domain}`]: { txt: ['v=STSv1; id=1'] } }
  const day = 24 * 3_600_000
  let fetched: Fetched = { policy: { mode: 'enforce', mx: ['a.example', '*.b.example'], maxAgeMs: 30 * day } }
  let at = clock.now()
  const own = { ...services, clock: { now: () => at }, resolver: fakeResolver(zone), fetch: async () => fetched }
  const policies = new StsPolicies(own)
  await policies.follow((known) => told.push(known))
  await policies.fetch(domain, '1')
  const first = { domain, id: '1', ...fetched, fetchedAt: at, triedAt: at, usedAt: at, fault: null }
  expect(told).toEqual([first])
  await policies.noteUsed(domain)
  at += day
  await policies.keepUp()
  expect(await policies.find(domain)).toEqual({ ...first, fetchedAt: at, triedAt: at })
  const [refreshedAt, fault] = [at, { type: 'sts-policy-fetch-error' as const, reason: 'no' }]
  at += day
  fetched = { fault }
  await policies.keepUp()
  expect(await policies.find(domain)).toEqual({ ...first, fetchedAt: refreshedAt, triedAt: at, fault })
  zone[`_mta-sts.${domain}`] = { txt: [] }
  at += day
  await policies.keepUp()
  expect(await policies.find(domain)).toMatchObject({ fetchedAt: refreshedAt, triedAt: at })
  await policies.load()
  at += 180 * day
  await policies.keepUp()
  expect(await policies.find(domain)).toBe(null)
}

/** An access token is fetched, replaced, refused, and asked for again by a human; what nobody uses any more is forgotten. */
export async function useSmarthostToken({ relay: { services }, clock }: TestRelay): Promise<void> {
  const grant: SmarthostGrant = {
    provider: 'other',
    grant: 'client_credentials',
    tokenUrl: 'https://login.example/token',
    clientId: 'app',
    clientSecret: new Secret('secret'),
    scope: null,
    user: 'relay@smart.example',
    authorizeUrl: null,
  }
  let at = clock.now()
  let fetched: FetchedToken = { accessToken: 'one', expiresInMs: 3_600_000, refreshToken: null }
  const own = { ...services, clock: { now: () => at }, fetch: async () => fetched }
  const tokens = new SmarthostTokens(own, grant)
  await tokens.keepUp()
  const first = { serial: 1, accessToken: 'one', expiresAt: at + 3_600_000, trouble: null, isOff: false }
  expect(await tokens.known()).toEqual(first)
  fetched = { ...fetched, accessToken: 'two' }
  await tokens.keepUp()
  expect(await tokens.known()).toEqual(first)
  await tokens.renew(1)
  expect(await tokens.known()).toEqual({ ...first, serial: 2, accessToken: 'two' })
  fetched = { fault: { isRefusal: true, reason: 'invalid_client' } }
  at += 3_000_000
  await tokens.keepUp()
  expect(await tokens.known()).toMatchObject({ serial: 2, trouble: 'invalid_client', isOff: true })
  fetched = { accessToken: 'three', expiresInMs: 3_600_000, refreshToken: null }
  await tokens.keepUp()
  expect(await tokens.retry()).toMatchObject({ hasToken: true, trouble: null, isOff: false })
  const byPerson = new SmarthostTokens(own, { ...grant, grant: 'refresh_token' })
  expect(await byPerson.connect({ refreshToken: 'given' })).toMatchObject({ hasToken: true, isOff: false })
  at += 31 * 24 * 3_600_000
  await tokens.keepUp()
  expect(await services.db.read('select serial from smarthost_token')).toEqual([{ serial: 4 }])
}

/** A smarthost and a route are made, changed and removed; one of an account goes with it. */
export async function routeMail({ relay: { services } }: TestRelay): Promise<void> {
  const { smarthosts, smarthostRoutes } = services
  const login = { user: 'relay', password: 'secret' }
  const { id } = await smarthosts.create({ name: 'life', host: 'smtp.relay.example', login })
  expect(await smarthosts.change('life', { port: 2525 })).toMatchObject({ port: 2525, login, revision: 1 })
  const given = { accountId: 'acc_gone', sendingDomain: null, recipientDomain: 'life.example', provider: null, via: 'life' }
  const route = await smarthostRoutes.create(given)
  await expect(smarthosts.remove('life')).rejects.toThrow(/Routes name the smarthost/)
  await expect(smarthostRoutes.create(given)).rejects.toThrow(/for the same mail/)
  await expect(smarthostRoutes.change(route.id, { via: 'nowhere' })).rejects.toThrow(/There is no smarthost nowhere/)
  expect(await smarthostRoutes.change(route.id, { via: 'direct' })).toMatchObject({ via: 'direct', revision: 1 })
  await Promise.all([smarthosts.load(), smarthostRoutes.load()])
  expect(smarthosts.get(id)).toMatchObject({ name: 'life', login })
  await smarthostRoutes.removeAll('acc_gone')
  await smarthosts.remove(id)
  expect([smarthosts.list(), smarthostRoutes.list()]).toEqual([[], []])
  // Its password is sealed anew when the key changes.
  await smarthosts.create({ name: 'kept', host: 'smtp.relay.example', login })
}
