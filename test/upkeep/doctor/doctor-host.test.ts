import { createSocket } from 'node:dgram'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { realHost } from '../../../src/upkeep/doctor/doctor-host.ts'
import { startFakeMx } from '../../support/fake-mx.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

test('the greeting of a host, and why there is none', async () => {
  const mx = await startFakeMx()
  expect(await realHost.greet('127.0.0.1', mx.port)).toEqual({ line: '220 mx.test ESMTP' })
  await mx.close()
  expect(await realHost.greet('127.0.0.1', mx.port)).toEqual({ fault: expect.stringContaining('ECONNREFUSED') })
  const flood = createServer((socket) => socket.on('error', () => {}).end('x'.repeat(5_000)))
  await new Promise<void>((done) => flood.listen(0, '127.0.0.1', done))
  onTestFinished(() => void flood.close())
  expect(await realHost.greet('127.0.0.1', (flood.address() as AddressInfo).port)).toEqual({ fault: 'no line came' })
})

test('who answers at a URL', async () => {
  let body = '{"status":"unavailable","version":"1.0.0","faults":[]}'
  const server = createHttpServer((_, response) => response.end(body))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`
  expect(await realHost.askHealth(url)).toBe('sterna')
  for (body of ['<html>', 'x'.repeat(200_000)]) expect(await realHost.askHealth(url)).toBe('other')
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  expect(await realHost.askHealth(url)).toEqual({ fault: expect.stringMatching(/ECONNREFUSED|closed/) })
})

test('the time of a time server', async () => {
  const server = createSocket('udp4')
  server.on('message', (request, from) => {
    expect(request).toHaveLength(48)
    const reply = Buffer.alloc(48)
    reply[0] = 0b00_100_100
    reply[1] = 1
    for (const place of [32, 40]) reply.writeUInt32BE(Math.floor(Date.now() / 1000) + 100 + 2_208_988_800, place)
    server.send(reply, from.port, from.address)
  })
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const offset = await realHost.clockOffset('127.0.0.1', server.address().port)
  expect(offset).toBeLessThan(-98_000)
  expect(offset).toBeGreaterThan(-102_000)
})

test('what lies on the disk', async () => {
  const directory = testDirectory()
  expect((await realHost.diskSpace(directory))?.free).toBeGreaterThan(0)
  expect(await realHost.mode(directory)).toBe(0o700)
  expect([await realHost.mode('/none'), await realHost.read('/none'), await realHost.diskSpace('/none')]).toEqual([null, null, null])
  expect(realHost.interfaceAddresses()).toContain('127.0.0.1')
})
