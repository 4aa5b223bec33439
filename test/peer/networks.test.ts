import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { spawnServer, untilReady } from '../support/spawned-server.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const script = new URL('../../scripts/first-evening.ts', import.meta.url).pathname

/** Every address of a network, in the words of scripts/first-evening.ts. */
const served = {
  plain: '308 https://mail.example.com/',
  health: 200,
  dashboard: 'max-age=2592000',
  greetings: ['220 mail.example.com ESMTP', '220 mail.example.com ESMTP'],
  sent: 'delivered',
}

test.each([
  ['both', ['192.0.2.10', '2001:db8::10']],
  ['ipv4', ['192.0.2.10']],
  ['ipv6', ['2001:db8::10']],
])('the lines of docs/install.md make a server with a certificate, a dashboard and mail: %s', async (network, addresses) => {
  const { stdout } = await promisify(execFile)('unshare', ['-rn', process.execPath, script, network])
  const { setUp, byAddress, judged } = JSON.parse(stdout)
  expect(setUp).toEqual({ status: 303, secure: true })
  expect(byAddress).toEqual(Object.fromEntries(addresses.map((address) => [address, served])))
  expect(judged).toEqual([
    'warning return_path_spf_missing',
    'ok return_path_mx_fine',
    ...addresses.map(() => 'ok return_path_port_fine'),
    'ok listeners_fine',
  ])
})

/** What a kernel says that was started with ipv6.disable=1. */
const withoutIpv6 = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
int socket(int domain, int type, int protocol) {
  if (domain == AF_INET6) { errno = EAFNOSUPPORT; return -1; }
  return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(domain, type, protocol);
}
`

test('on a machine without IPv6 the defaults listen on IPv4, and the log says so', async () => {
  const directory = testDirectory()
  const [source, shim] = [join(directory, 'without-ipv6.c'), join(directory, 'without-ipv6.so')]
  writeFileSync(source, withoutIpv6)
  execFileSync('cc', ['-shared', '-fPIC', '-o', shim, source, '-ldl'])
  const port = await freePort()
  const listen = Object.fromEntries(['HTTP', 'SUBMISSION', 'SUBMISSION_TLS', 'RETURN_PATH'].map((port) => [`${port}_LISTEN`, '[::]:0']))
  const server = await spawnServer(directory, { ...listen, HTTP_LISTEN: `[::]:${port}` }, { wrapper: ['env', `LD_PRELOAD=${shim}`] })
  await untilReady(server)
  expect(server.logged('this machine has no IPv6: listening on IPv4 only').map(({ setting }) => setting)).toEqual([
    'submission.listen',
    'submission.tls_listen',
    'return_path.listen',
    'http.listen',
  ])
  await waitForPort('127.0.0.1', port)
})
