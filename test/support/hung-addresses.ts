import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

/** Listens with a full backlog, and never accepts. */
const hang = `
  const { createServer } = require('node:net')
  const [port, ...hosts] = process.argv.slice(1)
  let left = hosts.length
  for (const host of hosts) createServer().listen({ host, port: Number(port), backlog: 1 }, () => {
    if (--left > 0) return
    require('node:fs').writeSync(1, 'up')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
/** Of the system, for a backlog of one. */
const backlog = 2

/** Makes connections to these addresses of loopback wait for ever, until the test ends. */
export async function hungAddresses(hosts: string[], port: number): Promise<void> {
  const child = spawn(process.execPath, ['-e', hang, String(port), ...hosts], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit').then(([code]) => Promise.reject(new Error(`nobody listens at ${hosts.join(', ')}: exit code ${code}`)))
  exited.catch(() => {})
  await Promise.race([once(child.stdout, 'data'), exited])
  for (const host of hosts) {
    for (let waiting = 0; waiting < backlog; waiting++) {
      const socket = connect({ host, port }).on('error', () => {})
      onTestFinished(() => void socket.destroy())
      await once(socket, 'connect')
    }
  }
}
