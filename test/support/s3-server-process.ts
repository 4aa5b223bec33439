/** A real S3 server on loopback, which verifies signatures, with an empty bucket `copies`. Started by s3-server.ts. */
import S3rver from '@20minutes/s3rver'

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory: process.argv[2] as string,
  configureBuckets: [{ name: 'copies', configs: [] }],
})
const { port } = await server.run()
process.send?.(port)
process.on('disconnect', () => process.exit())
