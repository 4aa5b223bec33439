import { expect, test } from 'vitest'
import { Examinations } from '../../../src/upkeep/doctor/examinations.ts'
import { sayOf, type Finding } from '../../../src/upkeep/doctor/finding.ts'
import { doctorOperations } from '../../../src/api/resource/doctor-operations.ts'
import { startApiServer } from '../../support/api-server.ts'
import { settableClock } from '../../support/settable-clock.ts'

const noNodes = async (): Promise<Finding[]> => []

test('an operator is told what is wrong with the server, nobody else is', async () => {
  const findings = [
    sayOf('port_25').ok('port_25_open', { hosts: 'mx.example' }),
    sayOf('clock').skipped('clock_not_compared'),
    sayOf('disk').warning('disk_filling', { free: 0.5, size: 20 }),
  ]
  const api = await startApiServer(({ clock }) =>
    doctorOperations({ examinations: new Examinations(clock, async () => findings, noNodes) }),
  )
  const ask = async (permission: 'operator' | 'full_access') =>
    api.request('GET', '/api/doctor', { token: await api.token({ permission }) })
  expect((await ask('operator')).body).toEqual({ object: 'doctor', status: 'warning', checked_at: '2026-11-21T06:00:00.000Z', findings })
  expect(findings[2]).toEqual({
    check: 'disk',
    status: 'warning',
    code: 'disk_filling',
    parameters: { free: 0.5, size: 20 },
    what: '0.5 GB of 20 GB are free.',
    advice: expect.stringMatching(/^Free some space/),
  })
  expect(await ask('full_access')).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
})

test('the last findings are shown for as long as the request allows, and shared while they are being made', async () => {
  let runs = 0
  const examine = async () => [sayOf('domain').skipped('domains_not_checked', { count: ++runs })]
  const api = await startApiServer(({ clock }) => doctorOperations({ examinations: new Examinations(clock, examine, noNodes) }))
  const token = await api.token({ permission: 'operator' })
  const seen = async (query = '') => (await api.request('GET', `/api/doctor${query}`, { token })).body['findings'] as Finding[]
  expect((await Promise.all([seen('?max_age=60'), seen('?max_age=60')])).map(([finding]) => finding?.parameters['count'])).toEqual([1, 1])
  api.clock.advance(60_000)
  expect((await seen('?max_age=60'))[0]?.parameters['count']).toBe(1)
  expect((await seen())[0]?.parameters['count']).toBe(2)
  api.clock.advance(60_001)
  expect((await seen('?max_age=60'))[0]?.parameters['count']).toBe(3)
})

test('what the nodes say of themselves is shown as it is now, and first', async () => {
  let machine = 'one'
  const examineNodes = async () => [sayOf('node').ok('node_fine', { machine, time: 'noon' })]
  const examinations = new Examinations(settableClock(), async () => [sayOf('resolver').ok('resolver_fine')], examineNodes)
  const seen = async () => (await examinations.latest(60_000)).findings.map(({ what }) => what)
  expect(await seen()).toEqual(['one reported no faults at noon.', expect.stringContaining('name servers')])
  machine = 'two'
  expect((await seen())[0]).toBe('two reported no faults at noon.')
})

test('an examination that fails is not kept', async () => {
  let runs = 0
  const examine = () => (++runs === 1 ? Promise.reject(new Error('no resolver')) : Promise.resolve([]))
  const examinations = new Examinations(settableClock(), examine, noNodes)
  await expect(examinations.latest(60_000)).rejects.toThrow('no resolver')
  expect((await examinations.latest(60_000)).findings).toEqual([])
})
