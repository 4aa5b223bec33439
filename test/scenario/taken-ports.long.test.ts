import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { sternaCommand } from '../support/sterna-command.ts'
import { spawnServer } from '../support/spawned-server.ts'
import { testDirectory } from '../support/temporary-directory.ts'

/** What takes the right to low ports from a command; null where we cannot do without it. */
function withoutRight(): string[] | null {
  try {
    if (Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= 25) return null
    if (process.getuid?.() !== 0) return []
    const wrapper = ['setpriv', '--bounding-set', '-net_bind_service']
    execFileSync(wrapper[0] ?? '', [...wrapper.slice(1), 'true'])
    return wrapper
  } catch {
    return null
  }
}

const wrapper = withoutRight()

test.runIf(wrapper !== null)('who may not listen on port 25 is told each way to get the right', async () => {
  const server = await spawnServer(testDirectory(), { RETURN_PATH_LISTEN: '127.0.0.1:25' }, { wrapper: wrapper ?? [] })
  expect(await server.ended).toBe(1)
  expect(server.stderr()).toMatch(
    /^sterna: return_path\.listen: cannot listen on 127\.0\.0\.1 port 25: this user has no permission \(EACCES\)/m,
  )
  expect(server.stderr()).toMatch(/AmbientCapabilities=CAP_NET_BIND_SERVICE/)
  expect(server.stderr()).toContain(`setcap cap_net_bind_service=+ep ${sternaCommand[0]}`)
  expect(server.stderr()).toMatch(/-p 25:2525/)
})

test('where another program has a port, the message says how to find it', async () => {
  const other = createServer()
  onTestFinished(() => void other.close())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const server = await spawnServer(testDirectory(), { SUBMISSION_LISTEN: `127.0.0.1:${port}` })
  expect(await server.ended).toBe(1)
  expect(server.stderr()).toMatch(
    new RegExp(`^sterna: submission\\.listen: cannot listen on 127\\.0\\.0\\.1 port ${port}: .*EADDRINUSE`, 'm'),
  )
  expect(server.stderr()).toContain(`ss -ltnp sport = :${port}`)
})
