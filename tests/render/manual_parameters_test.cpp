// tests/render/manual_parameters_test.cpp: old scenes may give every parameter that the manual of Mitsuba 0.5 has for the plugins that
// exist here: something reads it, or the user is told why nothing does.
#include "core/scene_file.h"
#include "jit/error.h"
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace umbel {
namespace {

// Chapter 8. A letter tells the type: boolean, colour, float, integer, place, string, transform, volume.
const struct {
    const char *kind, *type, *parameters;
} Manual[] = {
    { "shape", "cube", "t:toWorld b:flipNormals" },
    { "shape", "sphere", "p:center f:radius t:toWorld b:flipNormals" },
    { "shape", "cylinder", "p:p0 p:p1 f:radius b:flipNormals t:toWorld" },
    { "shape", "rectangle", "t:toWorld b:flipNormals" },
    { "shape", "disk", "t:toWorld b:flipNormals" },
    { "shape", "obj",
      "s:filename b:faceNormals f:maxSmoothAngle b:flipNormals b:flipTexCoords "
      "t:toWorld i:shapeIndex b:collapse b:loadMaterials" },
    { "shape", "ply", "s:filename b:faceNormals f:maxSmoothAngle b:flipNormals t:toWorld b:srgb" },
    { "shape", "serialized",
      "s:filename i:shapeIndex b:faceNormals f:maxSmoothAngle "
      "b:flipNormals t:toWorld" },
    { "shape", "instance", "t:toWorld" },
    { "shape", "hair", "s:filename f:radius f:angleThreshold f:reduction t:toWorld" },
    { "shape", "heightfield",
      "b:shadingNormals b:flipNormals t:toWorld i:width i:height f:scale "
      "s:filename" },
    { "bsdf", "diffuse", "c:reflectance" },
    { "bsdf", "roughdiffuse", "c:reflectance c:alpha b:useFastApprox" },
    { "bsdf", "dielectric", "f:intIOR f:extIOR c:specularReflectance c:specularTransmittance" },
    { "bsdf", "thindielectric", "f:intIOR f:extIOR c:specularReflectance c:specularTransmittance" },
    { "bsdf", "roughdielectric",
      "s:distribution f:alpha f:alphaU f:alphaV f:intIOR f:extIOR "
      "b:sampleVisible c:specularReflectance c:specularTransmittance" },
    { "bsdf", "conductor", "s:material c:eta c:k f:extEta c:specularReflectance" },
    { "bsdf", "roughconductor",
      "s:distribution f:alpha f:alphaU f:alphaV s:material c:eta c:k "
      "f:extEta b:sampleVisible c:specularReflectance" },
    { "bsdf", "plastic",
      "f:intIOR f:extIOR c:specularReflectance c:diffuseReflectance "
      "b:nonlinear" },
    { "bsdf", "roughplastic",
      "s:distribution f:alpha f:intIOR f:extIOR b:sampleVisible "
      "c:specularReflectance c:diffuseReflectance b:nonlinear" },
    { "bsdf", "coating", "f:intIOR f:extIOR f:thickness c:sigmaA c:specularReflectance" },
    { "bsdf", "roughcoating",
      "s:distribution f:alpha b:sampleVisible f:intIOR f:extIOR "
      "f:thickness c:sigmaA c:specularReflectance" },
    { "bsdf", "phong", "f:exponent c:specularReflectance c:diffuseReflectance" },
    { "bsdf", "ward", "s:variant f:alphaU f:alphaV c:specularReflectance c:diffuseReflectance" },
    { "bsdf", "mixturebsdf", "s:weights" },
    { "bsdf", "blendbsdf", "f:weight" },
    { "bsdf", "mask", "c:opacity" },
    { "bsdf", "difftrans", "c:transmittance" },
    { "bsdf", "hk", "s:material c:sigmaS c:sigmaA c:sigmaT c:albedo f:thickness" },
    { "bsdf", "irawan", "s:filename f:repeatU f:repeatV" },
    { "texture", "bitmap",
      "s:filename s:wrapMode s:wrapModeU s:wrapModeV f:gamma s:filterType "
      "f:maxAnisotropy b:cache f:uoffset f:voffset f:uscale f:vscale s:channel" },
    { "texture", "checkerboard",
      "c:color0 c:color1 f:uoffset f:voffset f:uscale f:vscale f:uvscale" },
    { "texture", "gridtexture",
      "c:color0 c:color1 f:lineWidth f:uscale f:vscale f:uoffset "
      "f:voffset" },
    { "texture", "scale", "f:value" },
    { "texture", "wireframe", "c:interiorColor c:edgeColor f:lineWidth f:stepWidth" },
    { "texture", "curvature", "s:curvature f:scale" },
    { "subsurface", "dipole",
      "s:material c:sigmaA c:sigmaS c:sigmaT c:albedo f:scale f:intIOR "
      "f:extIOR i:irrSamples" },
    { "subsurface", "singlescatter", "s:material c:sigmaA c:sigmaS c:sigmaT c:albedo f:scale" },
    { "medium", "homogeneous", "s:material c:sigmaA c:sigmaS c:sigmaT c:albedo f:scale" },
    { "medium", "heterogeneous", "s:method v:density v:albedo v:orientation f:scale" },
    { "phase", "hg", "f:g" },
    { "phase", "microflake", "f:stddev" },
    { "phase", "mixturephase", "s:weights" },
    { "volume", "constvolume", "f:value" },
    { "volume", "gridvolume", "s:filename b:sendData t:toWorld p:min p:max" },
    { "volume", "volcache", "i:blockSize f:voxelWidth i:memoryLimit t:toWorld" },
    { "emitter", "point", "t:toWorld p:position c:intensity f:samplingWeight" },
    { "emitter", "area", "c:radiance f:samplingWeight" },
    { "emitter", "directional", "t:toWorld p:direction c:irradiance f:samplingWeight" },
    { "emitter", "spot", "t:toWorld c:intensity f:cutoffAngle f:beamWidth f:samplingWeight" },
    { "emitter", "collimated", "t:toWorld c:power f:samplingWeight" },
    { "emitter", "sky",
      "f:turbidity c:albedo i:year i:month i:day f:hour f:minute f:second "
      "f:latitude f:longitude f:timezone p:sunDirection f:stretch i:resolution f:scale "
      "f:samplingWeight t:toWorld" },
    { "emitter", "sun",
      "f:turbidity i:year i:month i:day f:hour f:minute f:second f:latitude "
      "f:longitude f:timezone p:sunDirection i:resolution f:scale f:sunRadiusScale "
      "f:samplingWeight" },
    { "emitter", "sunsky",
      "f:turbidity c:albedo i:year i:month i:day f:hour f:minute f:second "
      "f:latitude f:longitude f:timezone p:sunDirection f:stretch i:resolution f:sunScale "
      "f:skyScale f:sunRadiusScale" },
    { "emitter", "envmap", "s:filename f:scale t:toWorld f:gamma b:cache f:samplingWeight" },
    { "emitter", "constant", "c:radiance f:samplingWeight" },
    { "sensor", "perspective",
      "t:toWorld s:focalLength f:fov s:fovAxis f:shutterOpen "
      "f:shutterClose f:nearClip f:farClip" },
    { "sensor", "thinlens",
      "t:toWorld f:apertureRadius f:focusDistance s:focalLength f:fov "
      "s:fovAxis f:shutterOpen f:shutterClose f:nearClip f:farClip" },
    { "sensor", "orthographic", "t:toWorld f:shutterOpen f:shutterClose f:nearClip f:farClip" },
    { "sensor", "telecentric",
      "t:toWorld f:apertureRadius f:focusDistance f:shutterOpen "
      "f:shutterClose f:nearClip f:farClip" },
    { "sensor", "spherical", "t:toWorld f:shutterOpen f:shutterClose" },
    { "sensor", "irradiancemeter", "f:shutterOpen f:shutterClose" },
    { "sensor", "radiancemeter", "t:toWorld f:shutterOpen f:shutterClose" },
    { "sensor", "fluencemeter", "t:toWorld f:shutterOpen f:shutterClose" },
    { "sensor", "perspective_rdist",
      "t:toWorld s:kc s:focalLength f:fov s:fovAxis f:shutterOpen "
      "f:shutterClose f:nearClip f:farClip" },
    { "integrator", "ao", "i:shadingSamples f:rayLength" },
    { "integrator", "direct",
      "i:shadingSamples i:emitterSamples i:bsdfSamples b:strictNormals "
      "b:hideEmitters" },
    { "integrator", "path", "i:maxDepth i:rrDepth b:strictNormals b:hideEmitters" },
    { "integrator", "volpath_simple", "i:maxDepth i:rrDepth b:strictNormals b:hideEmitters" },
    { "integrator", "volpath", "i:maxDepth i:rrDepth b:strictNormals b:hideEmitters" },
    { "integrator", "ptracer", "i:maxDepth i:rrDepth i:granularity b:bruteForce" },
    { "integrator", "field", "s:field c:undefined" },
    { "integrator", "motion",
      "f:time s:config b:derivativesOnly f:glossyThreshold "
      "i:maxTimeSteps i:maxSpaceSteps" },
    { "sampler", "independent", "i:sampleCount" },
    { "sampler", "stratified", "i:sampleCount i:dimension" },
    { "sampler", "ldsampler", "i:sampleCount i:dimension" },
    { "sampler", "hammersley", "i:sampleCount i:scramble" },
    { "sampler", "sobol", "i:sampleCount i:scramble" },
    { "sampler", "halton", "i:sampleCount i:scramble" },
    { "film", "hdrfilm",
      "i:width i:height s:fileFormat s:pixelFormat s:componentFormat "
      "i:cropOffsetX i:cropOffsetY i:cropWidth i:cropHeight b:attachLog b:banner "
      "b:highQualityEdges" },
    { "film", "tiledhdrfilm",
      "i:width i:height i:cropOffsetX i:cropOffsetY i:cropWidth "
      "i:cropHeight s:pixelFormat s:componentFormat" },
    { "film", "ldrfilm",
      "i:width i:height s:fileFormat s:pixelFormat s:tonemapMethod f:gamma "
      "f:exposure f:key f:burn b:banner i:cropOffsetX i:cropOffsetY i:cropWidth "
      "i:cropHeight b:highQualityEdges" },
    { "film", "mfilm",
      "i:width i:height i:cropOffsetX i:cropOffsetY i:cropWidth i:cropHeight "
      "s:fileFormat i:digits s:variable s:pixelFormat b:highQualityEdges" },
    { "film", "multifilm",
      "i:width i:height s:fileFormat s:pixelFormat s:componentFormat "
      "i:cropOffsetX i:cropOffsetY i:cropWidth i:cropHeight b:attachLog b:banner "
      "b:highQualityEdges" },
};

// And what is said of those that nothing reads, unless their value asks for nothing.
const std::map<std::string, const char *> Told = {
    { "film/hdrfilm.banner", "" }, // when it is loaded
    { "film/ldrfilm.banner", "" },
    { "film/multifilm.banner", "film (multifilm): banner" },
    { "integrator/motion.glossyThreshold", "glossy_threshold: only ideal mirrors" },
    { "integrator/ptracer.bruteForce", "brute_force: light is always connected" },
    { "integrator/ptracer.granularity", "granularity: launches" },
};

std::string element(const std::string &name, char type) {
    auto value = [&](const char *tag, const char *v) {
        return fmt::format("<{} name='{}' value='{}'/>", tag, name, v);
    };
    switch (type) {
    case 'b': return value("boolean", "true");
    case 'c': return value("spectrum", "0.5");
    case 'f': return value("float", "0.5");
    case 'i': return value("integer", "3");
    case 's': return value("string", "1");
    case 'p': return fmt::format("<point name='{}' x='1' y='2' z='3'/>", name);
    case 't': return fmt::format("<transform name='{}'><scale value='2'/></transform>", name);
    case 'v': return fmt::format("<volume name='{}' type='constvolume'/>", name);
    }
    ADD_FAILURE() << "unknown type " << type;
    return {};
}

std::vector<std::string> warnings_of(const std::string &kind, const std::string &type,
                                     const std::string &parameter) {
    std::vector<std::string> warnings;
    parse_scene_string(fmt::format("<scene version='0.5.0'><{0} type='{1}'>{2}</{0}></scene>", kind,
                                   type, parameter),
                       { .warnings = &warnings });
    return warnings;
}

} // namespace

TEST(ManualParameters, AreReadOrToldOf) {
    for (const auto &[kind, type, parameters] : Manual) {
        std::istringstream words(parameters);
        for (std::string word; words >> word;) {
            std::string name = word.substr(2), where = fmt::format("{}/{}.{}", kind, type, name);
            auto told = Told.find(where);
            std::string text = element(name, word[0]);
            if (name == "min" || name == "max") // which go together
                text += element(name == "min" ? "max" : "min", 'p');
            std::vector<std::string> warnings = warnings_of(kind, type, text);
            if (told == Told.end() || !*told->second) {
                EXPECT_TRUE(warnings.empty()) << where << ": " << warnings[0];
                continue;
            }
            ASSERT_EQ(warnings.size(), 1u) << where;
            EXPECT_NE(warnings[0].find(told->second), std::string::npos) << warnings[0];
        }
    }
}

// Films that the manual says write spectra write colours.
TEST(ManualParameters, SpectraOfFilmsAreColours) {
    for (const char *film : { "hdrfilm", "tiledhdrfilm", "multifilm", "mfilm" })
        for (const char *alpha : { "", "Alpha" }) {
            std::vector<std::string> warnings =
                warnings_of("film", film,
                            fmt::format("<string name='pixelFormat' value='spectrum{}'/>", alpha));
            ASSERT_EQ(warnings.size(), 1u) << film;
            EXPECT_NE(warnings[0].find(*alpha ? "\"rgba\" in place of \"spectrum_alpha\""
                                              : "\"rgb\" in place of \"spectrum\""),
                      std::string::npos)
                << warnings[0];
        }
}

TEST(ManualParameters, AreNotToldOfWhereTheyAskForNothing) {
    EXPECT_TRUE(
        warnings_of("integrator", "ptracer", "<boolean name='bruteForce' value='false'/>").empty());
    EXPECT_TRUE(
        warnings_of("integrator", "motion", "<float name='glossyThreshold' value='0'/>").empty());
    EXPECT_TRUE(warnings_of("film", "multifilm", "<boolean name='banner' value='false'/>").empty());
}

} // namespace umbel
