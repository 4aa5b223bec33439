import { packageFile } from '../../platform/program.ts'
import type { ReplyHeaders } from '../operation/call.ts'
import { staticFile, type StaticFile } from './static-file.ts'

/** Everything is served from here; the viewer embeds its icons as data. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page that shows the OpenAPI document to people, at this path. */
export function referencePage(path: string, reply: ReplyHeaders): StaticFile {
  reply.set('Content-Security-Policy', policy)
  reply.set('Referrer-Policy', 'no-referrer')
  return staticFile('text/html; charset=utf-8', page(path.endsWith('/') ? '' : 'docs/'))
}

/** The page; its links are relative, so that it works behind a proxy with a path prefix. */
const page = (root: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sterna API</title>
<link rel="icon" href="${root}favicon-32x32.png">
<link rel="stylesheet" href="${root}swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>The reference needs JavaScript; the document it shows is <a href="${root}../openapi.json">openapi.json</a>.</noscript>
<script src="${root}swagger-ui-bundle.js"></script>
<script src="${root}start.js"></script>
</body>
</html>
`

const startScript = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
})
`

const types: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

const loaded = new Map<string, StaticFile>()

/** A file of the page by name; null if there is none with this name. */
export function referenceFile(name: string): StaticFile | null {
  if (name === 'start.js') return staticFile('text/javascript; charset=utf-8', startScript)
  const type = Object.hasOwn(types, name) ? types[name] : undefined
  if (type === undefined) return null
  const file = loaded.get(name) ?? staticFile(type, packageFile(`swagger-ui-dist/${name}`))
  loaded.set(name, file)
  return file
}
