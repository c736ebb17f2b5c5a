// Compiles MJML with the reference; a JSON list of sources in, one of HTML texts out.
const mjml = require("mjml");

const sources = JSON.parse(require("fs").readFileSync(0, "utf8"));
const options = { validationLevel: "strict", keepComments: true };
const compiled = sources.map((source) => mjml(source, options).html);
process.stdout.write(JSON.stringify(compiled));
